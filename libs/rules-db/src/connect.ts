import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';

export interface ConnectOptions {
  /** Ends the attempts. */
  readonly signal?: AbortSignal;
  /** Called after each attempt that failed. */
  readonly onFailure?: (error: unknown) => void;
}

const RETRY_MS = 500;

/** Tries to connect every RETRY_MS milliseconds until PostgreSQL answers. Rejects only if the signal aborts. */
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
