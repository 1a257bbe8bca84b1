import { retryUntilDone } from '#waiting';
import type { DataSource } from 'typeorm';
import { reasonOf } from './availability.js';

export interface ConnectOptions {
  /** Ends the attempts. */
  readonly signal?: AbortSignal;
  /** Called when an attempt fails for another reason than the one before, so that each reason is told once. */
  readonly onFailure?: (error: unknown) => void;
}

/** Why the last attempt to connect failed, of those that have not been connected since. */
const failures = new WeakMap<DataSource, string>();

/** Connects, again and again until PostgreSQL is there. Rejects only when the signal aborts. */
export async function connectWhenUp(dataSource: DataSource, { signal, onFailure }: ConnectOptions = {}): Promise<void> {
  if (dataSource.isInitialized) return;
  const failed = (error: unknown): void => {
    const reason = reasonOf(error);
    if (reason === failures.get(dataSource)) return;
    failures.set(dataSource, reason);
    onFailure?.(error);
  };
  await retryUntilDone(() => dataSource.initialize(), { onFailure: failed, ...(signal && { signal }) });
  failures.delete(dataSource);
}

/** @throws Error with the reason if the data source was never connected */
export function assertConnected(dataSource: DataSource): void {
  if (!dataSource.isInitialized) throw new Error(`not connected yet: ${failures.get(dataSource) ?? 'the first attempt has not ended'}`);
}
