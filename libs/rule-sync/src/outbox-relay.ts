import { Background, pause } from '#waiting';
import { type ReloadJobData, reloadKey, type ReloadSubject, type Urgency } from './queues.js';

/** A row of the outbox: this merchant changed. */
export interface OutboxRow extends ReloadSubject {
  readonly id: string;
  readonly version: number;
  /** When it changed; null if the row does not say. */
  readonly createdAt: Date | null;
}

/**
 * Takes at most `max` rows, those that were written first or last, hands them to `publish` and deletes them if it succeeds.
 *
 * @returns the number of rows taken
 */
export type DrainOutbox = (max: number, publish: (rows: OutboxRow[]) => Promise<void>, from: 'oldest' | 'newest') => Promise<number>;

export interface OutboxRelayOptions {
  readonly drain: DrainOutbox;
  readonly enqueue: (reloads: ReloadJobData[], urgency: Urgency) => Promise<void>;
  /** Asked before each round. While it is false no transaction is opened, so that none stays open while Redis is unavailable. */
  readonly canEnqueue: () => boolean;
  readonly onRelayed?: (rows: number) => void;
  /** Called once when FAILURES_BEFORE_REPORT rounds in a row have failed, and not for further failures. */
  readonly onFailing?: (error: Error) => void;
  /** Called at the first round that succeeds after `onFailing`. */
  readonly onHealed?: () => void;
  /** The wait after a round that found less than a full batch, in milliseconds. */
  readonly pollMs?: number;
  readonly batchRows?: number;
  /** The longest wait between failing rounds, in milliseconds. */
  readonly maxBackoffMs?: number;
}

/** A transaction that has changed more merchants than so many is a file that was applied, and nobody waits for a single one of them. */
const MOST_EDITED_BY_HAND = 100;

const MOST_BULKS = 1_000;

/** A single failure is reported to nobody: it is normal before the first connection. */
const FAILURES_BEFORE_REPORT = 3;

/**
 * Moves the rows of the outbox to the queue. A row is deleted only after its job is in the queue, so a crash or an outage on
 * either side can duplicate a job but never lose one. Several relays may run at once.
 */
export class OutboxRelay {
  private readonly background = new Background((signal) => this.run(signal));
  /** The times of large transactions of which rows may still come. */
  private readonly bulks = new Set<number>();

  constructor(private readonly options: OutboxRelayOptions) {}

  start(): void {
    this.background.start();
  }

  /** Resolves after the current round. */
  stop(): Promise<void> {
    return this.background.stop();
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { pollMs = 100, batchRows = 500, maxBackoffMs = 500 } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const rows = await this.round(batchRows);
        if (failures >= FAILURES_BEFORE_REPORT) this.options.onHealed?.();
        failures = 0;
        if (rows < batchRows) await pause(pollMs, signal);
      } catch (error) {
        failures += 1;
        if (failures === FAILURES_BEFORE_REPORT) this.options.onFailing?.(error as Error);
        await pause(Math.min(maxBackoffMs, pollMs * 2 ** Math.min(failures, 10)), signal);
      }
    }
  }

  private async round(batchRows: number): Promise<number> {
    if (!this.options.canEnqueue()) throw new Error('the queue is not connected');
    const oldest = await this.options.drain(batchRows, this.publish, 'oldest');
    const isBehind = oldest >= batchRows;
    // What was changed a moment ago must not wait until a large file is relayed. Each reload reads what is stored, so the order is of no account.
    const rows = oldest + (isBehind ? await this.options.drain(MOST_EDITED_BY_HAND, this.publish, 'newest') : 0);
    if (!isBehind || this.bulks.size > MOST_BULKS) this.bulks.clear();
    if (rows > 0) this.options.onRelayed?.(rows);
    return rows;
  }

  private readonly publish = async (rows: readonly OutboxRow[]): Promise<void> => {
    const { urgent, bulk } = byUrgency(rows, this.bulks);
    if (urgent.length > 0) await this.options.enqueue(collapse(urgent), 'urgent');
    if (bulk.length > 0) await this.options.enqueue(collapse(bulk), 'bulk');
  };
}

/**
 * Tells rows of transactions that changed very many merchants from all others: an edit must not wait until a file of 100,000 rules is carried to Redis. Rows of one
 * transaction have the time at which it began. Rows of plans and of the default rules are always urgent: they concern many merchants at once.
 *
 * @param bulks the times of transactions that are known to be large; those that are found are added
 */
export function byUrgency(rows: readonly OutboxRow[], bulks: Set<number> = new Set()): Record<Urgency, OutboxRow[]> {
  const sizes = new Map<number, number>();
  for (const row of rows) {
    const time = timeOf(row);
    if (time === undefined) continue;
    const size = (sizes.get(time) ?? 0) + 1;
    sizes.set(time, size);
    if (size > MOST_EDITED_BY_HAND) bulks.add(time);
  }
  const isBulk = (row: OutboxRow): boolean => bulks.has(timeOf(row) ?? NaN);
  return { urgent: rows.filter((row) => !isBulk(row)), bulk: rows.filter(isBulk) };
}

/** Of a row about a merchant. */
function timeOf({ merchantId, createdAt }: OutboxRow): number | undefined {
  return merchantId === null ? undefined : createdAt?.getTime();
}

/** Merges rows into one reload for each merchant and plan, with its highest version and the time of its oldest change. */
export function collapse(rows: readonly OutboxRow[]): ReloadJobData[] {
  const reloads = new Map<string, ReloadJobData>();
  for (const { merchantId, plan, version, createdAt } of rows) {
    const key = reloadKey(merchantId, plan);
    const earlier = reloads.get(key);
    reloads.set(key, {
      merchantId,
      ...(plan !== undefined && { plan }),
      version: Math.max(version, earlier?.version ?? 0),
      changedAtMs: older(createdAt?.getTime() ?? null, earlier?.changedAtMs ?? null),
    });
  }
  return [...reloads.values()];
}

function older(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
