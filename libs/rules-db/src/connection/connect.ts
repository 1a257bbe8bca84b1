import { retryUntilDone } from '#waiting';
import type { DataSource } from 'typeorm';

export interface ConnectOptions {
  /** Ends the attempts. */
  readonly signal?: AbortSignal;
  /** Called after each attempt that failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** Connects, again and again until PostgreSQL is there. Rejects only when the signal aborts. */
export async function connectWhenUp(dataSource: DataSource, options: ConnectOptions = {}): Promise<void> {
  if (!dataSource.isInitialized) await retryUntilDone(() => dataSource.initialize(), options);
}
