import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';

export interface ConnectOptions {
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
  /** Called after each attempt that failed. */
  readonly onFailure?: (error: unknown) => void;
}

const RETRY_MS = 500;

/** Connects, again and again until PostgreSQL is there. Rejects only when the signal aborts. */
export async function connectWhenUp(dataSource: DataSource, { signal, onFailure }: ConnectOptions = {}): Promise<void> {
  while (!dataSource.isInitialized) {
    signal?.throwIfAborted();
    try {
      await dataSource.initialize();
    } catch (error) {
      onFailure?.(error);
      await sleep(RETRY_MS, undefined, signal ? { signal } : {});
    }
  }
}
