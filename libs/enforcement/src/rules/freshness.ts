/** Instead of a time at which something is to be read again: it is fresh; or it changed, and the next request reads it. */
export const FRESH = -1;
export const NOW = 0;

/** When what changed could not be read, it is tried again after so long. Until then the old rules go on. */
export const RETRY_MS = 1000;

/** @param now milliseconds that never step back */
export function isDue(readAgainAtMs: number, now: () => number): boolean {
  return readAgainAtMs !== FRESH && (readAgainAtMs === NOW || now() >= readAgainAtMs);
}

/** When something is tried again that failed just now. */
export function retryAt(now: () => number): number {
  return Math.ceil(now()) + RETRY_MS;
}
