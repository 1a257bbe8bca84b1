import {
  asRetry,
  NewerRulesError,
  StoreUnavailableError,
  type TakeAnswer,
  type TakeOutcome,
  type TakeRequest,
  type RetryState,
} from '#limiter';
import { InFlightSet, NOWHERE, type InFlight, type RunningTime } from '#waiting';
import type { Cluster, Redis } from 'ioredis';
import type { Breaker } from './breaker.js';
import type { ConnectionFault } from './connection-fault.js';
import { storeFailure } from './redis-error.js';
import { Script } from './scripts.js';
import type { ServerClock } from './server-clock.js';
import { packTakes, TakeReply } from './take-call.js';
import { FULL, UnwrittenCall } from './unwritten-call.js';

interface Waiting extends TakeRequest {
  /** In running time. */
  readonly since: number;
  /** How often Redis has asked for more; from the first time on the former numbers are sent. */
  asked: number;
  withFormer: boolean;
  /** Undefined after it was called. */
  answer: TakeAnswer | undefined;
}

/** Requests that are asked about in one script call. */
interface Batch extends InFlight {
  readonly requests: readonly Waiting[];
}

export interface TakeBatcherBounds {
  /** A take without an answer by then fails, though it may still be carried out. Milliseconds of running time. */
  readonly deadlineMs: number;
  /** Requests in one script call. */
  readonly batchSize: number;
  /** Calls under way at once. */
  readonly maxCalls: number;
  /** Requests waiting for a call; one more fails. */
  readonly maxWaiting: number;
  /** Told how long an answered call took, in milliseconds, and how many requests were in it. */
  readonly onCall: (tookMs: number, requests: number) => void;
}

/** Once for former numbers, once for another window, and once more for a clock that is stepping. */
export const MOST_ASKED = 4;

const script = new Script('take');

/**
 * Sends takes of the same turn of the event loop together in one script call, which costs Redis and Node a fraction of single calls. Of a
 * cluster, a call is for one merchant.
 */
export class TakeBatcher {
  private waiting: Waiting[] = [];
  private readonly underWay = new InFlightSet<Batch>();
  private flushScheduled = false;
  private stopSweeping: (() => void) | undefined;

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly clock: ServerClock,
    private readonly time: RunningTime,
    private readonly breaker: Breaker,
    private readonly fault: ConnectionFault,
    private readonly bounds: TakeBatcherBounds,
  ) {}

  add({ takes, holder, spare, retry }: TakeRequest, answer: TakeAnswer): void {
    if (this.waiting.length >= this.bounds.maxWaiting) {
      answer(new StoreUnavailableError('too many takes are waiting for Redis'), 0);
      return;
    }
    this.waiting.push({ takes, holder, spare, retry, since: this.time.nowMs, asked: 0, withFormer: false, answer });
    this.scheduleFlush();
  }

  /** Fails what is under way. */
  close(): void {
    this.stopSweeping?.();
    this.stopSweeping = undefined;
    this.giveUp('the store was closed');
  }

  /** Fails what is under way and what waits. */
  giveUp(reason: string): void {
    this.fail(() => true, reason);
  }

  private scheduleFlush(): void {
    if (this.flushScheduled || this.underWay.size >= this.bounds.maxCalls) return;
    this.flushScheduled = true;
    setImmediate(() => {
      this.flushScheduled = false;
      while (this.waiting.length > 0 && this.underWay.size < this.bounds.maxCalls) this.send(this.nextBatch());
      this.scheduleSweep();
    });
  }

  private nextBatch(): Waiting[] {
    return this.redis.isCluster ? this.nextOfOneMerchant() : this.waiting.splice(0, this.bounds.batchSize);
  }

  /** In a cluster a call may only name keys of one hash slot: those of one merchant. */
  private nextOfOneMerchant(): Waiting[] {
    const tag = hashTagOf(this.waiting[0]!);
    const batch: Waiting[] = [];
    const others: Waiting[] = [];
    for (const waiting of this.waiting) {
      if (batch.length < this.bounds.batchSize && hashTagOf(waiting) === tag) batch.push(waiting);
      else others.push(waiting);
    }
    this.waiting = others;
    return batch;
  }

  private send(requests: readonly Waiting[]): void {
    const batch = { requests, place: NOWHERE };
    this.underWay.add(batch);
    const sentAtMs = Date.now();
    const startedMs = performance.now();
    script
      .runPacked(this.redis, () => packTakes(requests, this.clock.nowMs, this.clock.ofScripts))
      .then(
        (numbers) => {
          this.bounds.onCall(performance.now() - startedMs, requests.length);
          this.answered(batch, new TakeReply(numbers as number[]), sentAtMs);
        },
        (error: Error) => {
          this.breaker.failed(this.fault.explain(error));
          const unavailable = new StoreUnavailableError(`Redis failed: ${error.message}`, { cause: error });
          for (const waiting of requests) settle(waiting, unavailable);
          this.done(batch);
        },
      );
  }

  private answered(batch: Batch, reply: TakeReply, sentAtMs: number): void {
    const { atUs } = reply;
    this.clock.heard(atUs, sentAtMs);
    const unwritten = reply.wasWritten ? undefined : new UnwrittenCall();
    if (unwritten) this.breaker.failed(FULL);
    const again: Waiting[] = [];
    for (const waiting of batch.requests) {
      const state = waiting.retry === undefined ? undefined : reply.retryState();
      const levels = reply.next(waiting.takes);
      if (levels === 'again') again.push(waiting);
      else if (levels === 'stale') settle(waiting, new NewerRulesError(Math.abs(atUs)));
      else
        settle(
          waiting,
          unwritten ? unwritten.outcome(state === 'retried' ? asRetry(waiting) : waiting, levels) : levels,
          Math.abs(atUs),
          state,
        );
    }
    if (again.length > 0) this.askAgain(again);
    this.done(batch);
  }

  /** Nothing was taken: Redis needs the former numbers of an edited limit, or the calendar's windows by its own clock, which is known now. */
  private askAgain(requests: readonly Waiting[]): void {
    const ready: Waiting[] = [];
    for (const waiting of requests) {
      waiting.withFormer = true;
      if (++waiting.asked < MOST_ASKED) ready.push(waiting);
      else settle(waiting, new StoreUnavailableError('Redis has asked again too often'));
    }
    this.waiting.unshift(...ready);
  }

  private done(batch: Batch): void {
    this.underWay.delete(batch);
    if (this.waiting.length > 0) this.scheduleFlush();
  }

  /** Looks for late takes at every beat of the clock while something is under way. */
  private scheduleSweep(): void {
    if (this.stopSweeping !== undefined || (this.underWay.size === 0 && this.waiting.length === 0)) return;
    this.stopSweeping = this.time.after(0, () => {
      this.stopSweeping = undefined;
      const { deadlineMs } = this.bounds;
      const isLate = ({ since }: Waiting): boolean => this.time.passed(since, deadlineMs);
      const reason = `no answer within ${deadlineMs} ms`;
      if (this.fail(isLate, reason)) this.breaker.failed(storeFailure('TIMEOUT', reason));
      this.scheduleSweep();
    });
  }

  /** Whether there were any. */
  private fail(which: (waiting: Waiting) => boolean, reason: string): boolean {
    let error: StoreUnavailableError | undefined;
    for (const batch of this.underWay.now()) {
      // The first of a batch has waited longest.
      if (!which(batch.requests[0]!)) continue;
      error ??= new StoreUnavailableError(reason);
      for (const waiting of batch.requests) settle(waiting, error);
      // A call without an answer must not hold its place for ever.
      this.underWay.delete(batch);
    }
    // They wait in the order in which they came.
    const first = this.waiting.findIndex((waiting) => !which(waiting));
    for (const waiting of this.waiting.splice(0, first === -1 ? this.waiting.length : first)) {
      settle(waiting, (error ??= new StoreUnavailableError(reason)));
    }
    return error !== undefined;
  }
}

/** What the key of a request's first bucket has in braces, which is what a cluster goes by. */
function hashTagOf({ takes }: Waiting): string {
  const key = takes[0]?.key ?? '';
  return key.slice(0, key.indexOf('}') + 1) || key;
}

function settle(waiting: Waiting, outcome: TakeOutcome, atUs = 0, state?: RetryState): void {
  const { answer } = waiting;
  waiting.answer = undefined;
  answer?.(outcome, atUs, 'store', state);
}
