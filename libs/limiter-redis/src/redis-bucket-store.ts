import {
  checkOperation,
  NewerRulesError,
  readingOf,
  StoreUnavailableError,
  type Bucket,
  type BucketOperation,
  type BucketOperator,
  type BucketReading,
  type BucketStore,
  type BucketTake,
  type Clock,
  type Receipt,
  type TakeAnswer,
  type TakeOutcome,
} from '#limiter';
import { runningTime, type RunningTime } from '#waiting';
import type { Cluster, Redis } from 'ioredis';
import { Breaker } from './breaker.js';
import { ConnectionFault } from './connection-fault.js';
import { costOf, OperationReply, packOperation } from './operate-call.js';
import type { PackedArguments } from './packed-command.js';
import { PROBE } from './probe-take.js';
import { reconnect } from './redis-connection.js';
import { storeFailure, type StoreFailure } from './redis-error.js';
import { packRefunds, refundsOf, type GivenBack } from './refund-call.js';
import { Script } from './scripts.js';
import { packTakes, TakeReply } from './take-call.js';
import { FULL, UnwrittenCall } from './unwritten-call.js';

export interface RedisBucketStoreOptions {
  /** A take without an answer by then fails, though it may still be carried out. Milliseconds of running time. */
  deadlineMs?: number;
  /** Requests in one script call, at most. More would make the others wait. */
  batchSize?: number;
  /** Calls under way at once. More to a cluster, where each is for one merchant. */
  maxCalls?: number;
  /** Requests waiting for a call, at most; one more fails. */
  maxWaiting?: number;
  /** Replaces the clock of the server. For tests and replays. */
  clock?: Clock;
  /** By which deadlines count. For tests. */
  time?: RunningTime;
  /** Told when the store stops and starts carrying out takes. */
  onAvailability?: (available: boolean) => void;
  /** Told why, at every call and every probe that fails. */
  onFailure?: (failure: StoreFailure) => void;
}

interface Waiting {
  readonly takes: readonly BucketTake[];
  readonly slot: number;
  readonly spare: boolean;
  /** In running time. */
  readonly since: number;
  /** How often Redis has asked for more; from the first time on the former numbers are sent. */
  asked: number;
  withFormer: boolean;
  /** Undefined once it was called. */
  answer: TakeAnswer | undefined;
}

const CALLS_TO_A_CLUSTER = 64;

/** Once for former numbers, once for another window, and once more for a clock that is stepping. */
const MOST_ASKED = 4;

const script = new Script('take');
const refundScript = new Script('refund');
const operateScript = new Script('operate');

/**
 * Buckets in Redis. Takes of the same turn of the event loop go out together in one script call, which costs Redis and
 * Node a fraction of single calls. When Redis does not answer in time a breaker opens, and takes fail at once
 * until it answers again. A full Redis is asked all the same: it can still refuse.
 */
export class RedisBucketStore implements BucketStore, BucketOperator {
  private readonly deadlineMs: number;
  private readonly batchSize: number;
  private readonly maxCalls: number;
  private readonly maxWaiting: number;
  private readonly clock: Clock | undefined;
  private readonly breaker: Breaker;
  private readonly fault: ConnectionFault;
  private waiting: Waiting[] = [];
  private givenBack: GivenBack[] = [];
  private underWay = new Set<readonly Waiting[]>();
  private flushScheduled = false;
  /** By how much the server's clock is ahead of this machine's, by its last answer. Milliseconds. */
  private offsetMs = 0;
  private readonly time: RunningTime;
  private stopSweeping: (() => void) | undefined;

  private readonly isCluster: boolean;

  constructor(
    private readonly redis: Redis | Cluster,
    options: RedisBucketStoreOptions = {},
  ) {
    this.deadlineMs = options.deadlineMs ?? 25;
    this.batchSize = options.batchSize ?? 128;
    this.isCluster = redis.isCluster;
    this.maxCalls = options.maxCalls ?? (this.isCluster ? CALLS_TO_A_CLUSTER : 4);
    this.maxWaiting = options.maxWaiting ?? 10_000;
    this.clock = options.clock;
    this.time = options.time ?? runningTime;
    this.fault = new ConnectionFault(redis);
    this.breaker = new Breaker({
      probe: () => this.probe(),
      deadlineMs: this.deadlineMs,
      time: this.time,
      reconnect: () => reconnect(redis),
      ...(options.onAvailability && { onChange: options.onAvailability }),
      ...(options.onFailure && { onFailure: options.onFailure }),
    });
  }

  /** By how much the clock of Redis is ahead of this machine's. Milliseconds, as exact as the way to Redis is short. */
  get clockOffsetMs(): number {
    return this.offsetMs;
  }

  /** What time it is at the server, as far as that is known here. */
  private get serverMs(): number {
    return this.clock?.() ?? Date.now() + this.offsetMs;
  }

  /** Whether takes are carried out. */
  get available(): boolean {
    return this.breaker.closed;
  }

  /** Whether Redis can be asked, be it only to read. */
  get readable(): boolean {
    return this.breaker.closed || this.breaker.failure?.stillReads === true;
  }

  /** Why it is not available. */
  get failure(): StoreFailure | undefined {
    return this.breaker.failure;
  }

  take(takes: readonly BucketTake[], answer: TakeAnswer, slot = 0, spare = false): void {
    if (!this.readable) {
      answer(new StoreUnavailableError('Redis is not answering'), 0);
    } else if (this.waiting.length >= this.maxWaiting) {
      answer(new StoreUnavailableError('too many takes are waiting for Redis'), 0);
    } else {
      this.waiting.push({ takes, since: this.time.nowMs, slot, spare, asked: 0, withFormer: false, answer });
      this.scheduleFlush();
    }
  }

  /** If Redis does not answer, slots time out. */
  release(takes: readonly BucketTake[], slot: number): void {
    this.giveBack({ takes, slot });
  }

  refund(receipt: Receipt): void {
    this.giveBack(receipt);
  }

  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    checkOperation(bucket, operation);
    if (!this.readable) throw new StoreUnavailableError('Redis is not answering');
    const take: BucketTake = { key, bucket, cost: costOf(operation), memo: undefined };
    for (let asked = 0; asked < MOST_ASKED; asked++) {
      const sentAtMs = Date.now();
      const numbers = await this.inTime(
        operateScript.runPacked(this.redis, () => packOperation(take, operation, asked > 0, this.serverMs, this.clockOfScripts)),
      );
      const reply = new OperationReply(numbers as number[]);
      this.heard(reply.atUs, sentAtMs);
      if (reply.problem === 'stale') throw new NewerRulesError();
      // Nothing was done: see `askAgain`.
      if (reply.problem === 'again') continue;
      if (reply.atUs < 0 && operation.kind !== 'read') {
        this.breaker.failed(FULL);
        throw new StoreUnavailableError(`Redis failed: ${FULL.said}`);
      }
      return readingOf(bucket, reply.level(take), reply.blockedForUs);
    }
    throw new StoreUnavailableError('Redis has asked again too often');
  }

  /** Rejects with a StoreUnavailableError if the call fails, or is not answered within the deadline. */
  private inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (failure: StoreFailure, error: StoreUnavailableError): void => {
        this.breaker.failed(failure);
        reject(error);
      };
      const reason = `no answer within ${this.deadlineMs} ms`;
      const callOff = this.time.after(this.deadlineMs, () => fail(storeFailure('TIMEOUT', reason), new StoreUnavailableError(reason)));
      answer
        .then(resolve, (error: Error) =>
          fail(this.fault.explain(error), new StoreUnavailableError(`Redis failed: ${error.message}`, { cause: error })),
        )
        .finally(callOff);
    });
  }

  /** What is given back in the same turn goes out together. */
  private giveBack(request: GivenBack): void {
    if (this.givenBack.push(request) > 1) return;
    setImmediate(() => {
      const requests = this.givenBack;
      this.givenBack = [];
      const batchSize = this.isCluster ? 1 : this.batchSize;
      for (let i = 0; i < requests.length; i += batchSize) this.sendRefunds(requests.slice(i, i + batchSize));
    });
  }

  private sendRefunds(requests: readonly GivenBack[]): void {
    const refunds = refundsOf(requests, this.serverMs);
    if (refunds.length === 0) return;
    const now = this.clock ? String(Math.round(this.clock() * 1000)) : '';
    // Not tried again: a call whose answer was lost may have been carried out.
    refundScript.runPacked(this.redis, () => packRefunds(refunds, now)).catch(() => {});
  }

  /** Fails what is under way and stops probing. The connection stays its owner's. */
  close(): void {
    this.breaker.close();
    this.fault.close();
    this.stopSweeping?.();
    this.stopSweeping = undefined;
    this.fail(() => true, 'the store was closed');
  }

  private scheduleFlush(): void {
    if (this.flushScheduled || this.underWay.size >= this.maxCalls) return;
    this.flushScheduled = true;
    setImmediate(() => {
      this.flushScheduled = false;
      while (this.waiting.length > 0 && this.underWay.size < this.maxCalls) this.send(this.nextBatch());
      this.scheduleSweep();
    });
  }

  private nextBatch(): Waiting[] {
    return this.isCluster ? this.nextOfOneSlot() : this.waiting.splice(0, this.batchSize);
  }

  /** In a cluster a call may only name keys of one slot: those of one merchant. */
  private nextOfOneSlot(): Waiting[] {
    const tag = hashTagOf(this.waiting[0]!);
    const batch: Waiting[] = [];
    const others: Waiting[] = [];
    for (const waiting of this.waiting) {
      if (batch.length < this.batchSize && hashTagOf(waiting) === tag) batch.push(waiting);
      else others.push(waiting);
    }
    this.waiting = others;
    return batch;
  }

  private send(batch: readonly Waiting[]): void {
    this.underWay.add(batch);
    const sentAtMs = Date.now();
    script
      .runPacked(this.redis, () => this.pack(batch))
      .then(
        (numbers) => {
          const reply = new TakeReply(numbers as number[]);
          const { atUs } = reply;
          this.heard(atUs, sentAtMs);
          const call = wasWritten(reply) ? undefined : new UnwrittenCall();
          if (call) this.breaker.failed(FULL);
          const again: Waiting[] = [];
          for (const waiting of batch) {
            const levels = reply.next(waiting.takes);
            if (levels === 'again') again.push(waiting);
            else if (levels === 'stale') settle(waiting, new NewerRulesError());
            else settle(waiting, call ? call.outcome(waiting, levels) : levels, Math.abs(atUs));
          }
          if (again.length > 0) this.askAgain(again);
          this.done(batch);
        },
        (error: Error) => {
          this.breaker.failed(this.fault.explain(error));
          const unavailable = new StoreUnavailableError(`Redis failed: ${error.message}`, { cause: error });
          for (const waiting of batch) settle(waiting, unavailable);
          this.done(batch);
        },
      );
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

  private pack(requests: Parameters<typeof packTakes>[0]): PackedArguments {
    return packTakes(requests, this.serverMs, this.clockOfScripts);
  }

  /** Whether a script is to go by the time that it is told. */
  private get clockOfScripts(): 'given' | 'of server' {
    return this.clock ? 'given' : 'of server';
  }

  /** @param atUs what time it was at the server, negative if Redis was full */
  private heard(atUs: number, sentAtMs: number): void {
    if (!this.clock) this.offsetMs = Math.abs(atUs) / 1000 - (sentAtMs + Date.now()) / 2;
  }

  /** A take like any other: a server that can do all but this is of no use. */
  private async probe(): Promise<StoreFailure | undefined> {
    try {
      const numbers = (await script.runPacked(this.redis, () => this.pack([PROBE]))) as number[];
      return wasWritten(new TakeReply(numbers)) ? undefined : FULL;
    } catch (error) {
      return this.fault.explain(error);
    }
  }

  private done(batch: readonly Waiting[]): void {
    this.underWay.delete(batch);
    if (this.waiting.length > 0) this.scheduleFlush();
  }

  /** Looks for late takes at every beat of the clock while something is under way. */
  private scheduleSweep(): void {
    if (this.stopSweeping !== undefined || (this.underWay.size === 0 && this.waiting.length === 0)) return;
    this.stopSweeping = this.time.after(0, () => {
      this.stopSweeping = undefined;
      const isLate = ({ since }: Waiting): boolean => this.time.passed(since, this.deadlineMs);
      const reason = `no answer within ${this.deadlineMs} ms`;
      if (this.fail(isLate, reason)) this.breaker.failed(storeFailure('TIMEOUT', reason));
      this.scheduleSweep();
    });
  }

  /** Whether there were any. */
  private fail(which: (waiting: Waiting) => boolean, reason: string): boolean {
    let error: StoreUnavailableError | undefined;
    for (const batch of this.underWay) {
      // The first of a batch has waited longest.
      if (!which(batch[0]!)) continue;
      error ??= new StoreUnavailableError(reason);
      for (const waiting of batch) settle(waiting, error);
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

/** The script answers with a negative time if Redis was full. */
function wasWritten(reply: TakeReply): boolean {
  return !(reply.atUs < 0);
}

function settle(waiting: Waiting, outcome: TakeOutcome, atUs = 0): void {
  const { answer } = waiting;
  waiting.answer = undefined;
  answer?.(outcome, atUs);
}
