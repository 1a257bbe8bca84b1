import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** Ends the attempts, also while the next one is waited for. */
  readonly signal?: AbortSignal;
  /** Between two attempts. Milliseconds; 500 unless given. */
  readonly waitMs?: number;
  /** Told of each attempt that failed. */
  readonly onFailure?: (error: unknown) => void;
  /** Whether another attempt can help. Always, unless given. */
  readonly isTemporary?: (error: unknown) => boolean;
}

/** Attempts something again and again until it succeeds. Rejects with a failure that is not temporary, and when the signal aborts. */
export async function retryUntilDone<T>(
  attempt: () => Promise<T>,
  { signal, waitMs = 500, onFailure, isTemporary }: RetryOptions = {},
): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (isTemporary?.(error) === false) throw error;
      onFailure?.(error);
    }
    await sleep(waitMs, undefined, signal ? { signal } : {});
  }
}
