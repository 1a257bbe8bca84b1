import type { WindowLevel } from '#limiter';

/** The reply of all algorithms that count requests in windows. */
export function windowLevelOf(reply: readonly number[], position: number): WindowLevel {
  return {
    used: reply[position]!,
    retryUs: reply[position + 1]!,
    resetUs: reply[position + 2]!,
    resetAfterTakingUs: reply[position + 3]!,
  };
}
