import { setTimeout as sleep } from 'node:timers/promises';
import type { ReloadJobData } from './queues.js';

/** A row of the outbox: "this merchant changed". */
export interface OutboxRow {
  readonly id: string;
  /** Null stands for the default rules. */
  readonly merchantId: string | null;
  readonly version: number;
  /** When it changed; null if nobody knows. */
  readonly createdAt: Date | null;
}

/**
 * Takes up to `max` rows in the order they were written, hands them to `publish` and forgets them only if it succeeds.
 * @returns the number of rows taken.
 */
export type DrainOutbox = (max: number, publish: (rows: OutboxRow[]) => Promise<void>) => Promise<number>;

export interface OutboxRelayOptions {
  readonly drain: DrainOutbox;
  readonly enqueue: (reloads: ReloadJobData[]) => Promise<void>;
  /** Asked before each round: while false no transaction is opened, so that none stays open waiting for Redis. */
  readonly canEnqueue: () => boolean;
  readonly onRelayed?: (rows: number) => void;
  /** Called once when relaying has failed a few times in a row, not for each try. */
  readonly onFailing?: (error: Error) => void;
  /** Called at the first success after that. */
  readonly onHealed?: () => void;
  /** Wait between rounds that found less than a full batch, in milliseconds. */
  readonly pollMs?: number;
  readonly batchRows?: number;
  /** Upper bound of the wait between failing rounds, in milliseconds. */
  readonly maxBackoffMs?: number;
}

/** One failure is a hiccup, or the moment before the first connection. */
const FAILURES_TO_TELL = 3;

/**
 * Carries the outbox to the queue. A row leaves the outbox only after its job is in the queue, so a crash or an outage on
 * either side can double a job but never lose one. Several relays may run at once.
 */
export class OutboxRelay {
  private readonly stopped = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly options: OutboxRelayOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Ends after the round that is under way. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { pollMs = 200, batchRows = 500, maxBackoffMs = 500 } = this.options;
    let failures = 0;
    while (!this.stopped.signal.aborted) {
      try {
        const rows = await this.round(batchRows);
        if (failures >= FAILURES_TO_TELL) this.options.onHealed?.();
        failures = 0;
        if (rows < batchRows) await this.wait(pollMs);
      } catch (error) {
        failures += 1;
        if (failures === FAILURES_TO_TELL) this.options.onFailing?.(error as Error);
        await this.wait(Math.min(maxBackoffMs, pollMs * 2 ** Math.min(failures, 10)));
      }
    }
  }

  private async round(batchRows: number): Promise<number> {
    if (!this.options.canEnqueue()) throw new Error('the queue is not connected');
    const rows = await this.options.drain(batchRows, (drained) => this.options.enqueue(collapse(drained)));
    if (rows > 0) this.options.onRelayed?.(rows);
    return rows;
  }

  private async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }
}

/** One reload for each merchant: its highest version, and the oldest change that waits for it. */
export function collapse(rows: readonly OutboxRow[]): ReloadJobData[] {
  const reloads = new Map<string | null, ReloadJobData>();
  for (const { merchantId, version, createdAt } of rows) {
    const earlier = reloads.get(merchantId);
    reloads.set(merchantId, {
      merchantId,
      version: Math.max(version, earlier?.version ?? 0),
      changedAtMs: older(createdAt?.getTime() ?? null, earlier?.changedAtMs ?? null),
    });
  }
  return [...reloads.values()];
}

function older(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
