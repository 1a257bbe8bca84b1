import { StoreUnavailableError, type NewerRulesError } from '#limiter';
import { InFlightSet, NOWHERE, type InFlight, type RunningTime } from '#waiting';
import type { Breaker } from '../connection/breaker.js';
import { tagOf } from '../connection/cluster-slot.js';
import type { ConnectionFault } from '../connection/connection-fault.js';
import type { PackedArguments } from '../connection/packed-command.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import { storeFailure } from '../connection/redis-error.js';
import type { Script } from '../scripts.js';
import type { ServerClock } from '../connection/server-clock.js';
import { FULL } from '../connection/unwritten-call.js';

/** What waits for an answer of Redis. */
export interface Waiting {
  /** In running time. */
  readonly since: number;
  /** How often Redis has asked for more; from the first time on the former numbers are sent. */
  asked: number;
  withFormer: boolean;
}

/** What is asked together in one script call. */
interface Batch<Asked> extends InFlight {
  readonly requests: readonly Asked[];
}

export interface BatcherBounds {
  /** What has no answer by then fails, though it may still be carried out. Milliseconds of running time. */
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

/** What the calls of one store have in common. */
export interface BatcherConnection {
  readonly redis: RedisConnection;
  readonly clock: ServerClock;
  readonly time: RunningTime;
  readonly breaker: Breaker;
  readonly fault: ConnectionFault;
}

/** Once for former numbers, once for another window, and once more for a clock that is stepping. */
export const MOST_ASKED = 4;

/** Answers of one call, read request by request in the order in which they were packed. */
export interface BatchReply<Asked> {
  /** By the clock of the server, in microseconds; negative if Redis was full. */
  readonly atUs: number;
  readonly wasWritten: boolean;
  /** Answers a request; true if Redis has to be told more about it, and has done nothing. */
  answer(waiting: Asked): boolean;
}

/** How requests of one kind are asked. */
export interface BatchProtocol<Asked> {
  readonly script: Script;
  pack(requests: readonly Asked[], nowMs: number, clock: 'given' | 'of server'): PackedArguments;
  read(numbers: readonly number[]): BatchReply<Asked>;
  /** Answers a request that was not answered yet with an error. */
  fail(waiting: Asked, error: StoreUnavailableError | NewerRulesError): void;
  /** The key of its first bucket. */
  keyOf(waiting: Asked): string;
}

/**
 * Sends requests of the same turn of the event loop together in one script call, which costs Redis and Node a fraction of single calls. Of a
 * cluster, a call is for one merchant.
 */
export class Batcher<Asked extends Waiting> {
  private waiting: Asked[] = [];
  private readonly underWay = new InFlightSet<Batch<Asked>>();
  private flushScheduled = false;
  private stopSweeping: (() => void) | undefined;

  private readonly redis: RedisConnection;
  private readonly clock: ServerClock;
  private readonly time: RunningTime;
  private readonly breaker: Breaker;
  private readonly fault: ConnectionFault;

  constructor(
    { redis, clock, time, breaker, fault }: BatcherConnection,
    private readonly bounds: BatcherBounds,
    private readonly protocol: BatchProtocol<Asked>,
  ) {
    this.redis = redis;
    this.clock = clock;
    this.time = time;
    this.breaker = breaker;
    this.fault = fault;
  }

  /** Whether no more can wait. */
  get isFull(): boolean {
    return this.waiting.length >= this.bounds.maxWaiting;
  }

  add(request: Asked): void {
    this.waiting.push(request);
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

  private nextBatch(): Asked[] {
    return this.redis.isCluster ? this.nextOfOneMerchant() : this.waiting.splice(0, this.bounds.batchSize);
  }

  /** In a cluster a call may only name keys of one hash slot: those of one merchant. */
  private nextOfOneMerchant(): Asked[] {
    const tag = this.hashTagOf(this.waiting[0]!);
    const batch: Asked[] = [];
    const others: Asked[] = [];
    for (const waiting of this.waiting) {
      if (batch.length < this.bounds.batchSize && this.hashTagOf(waiting) === tag) batch.push(waiting);
      else others.push(waiting);
    }
    this.waiting = others;
    return batch;
  }

  private send(requests: readonly Asked[]): void {
    const batch = { requests, place: NOWHERE };
    this.underWay.add(batch);
    const sentMs = performance.now();
    const { protocol } = this;
    protocol.script.callPacked(
      this.redis,
      () => protocol.pack(requests, this.clock.nowMs, this.clock.ofScripts),
      'of caller',
      (numbers) => {
        this.bounds.onCall(performance.now() - sentMs, requests.length);
        this.answered(batch, protocol.read(numbers as number[]), sentMs);
      },
      (error) => {
        this.breaker.failed(this.fault.explain(error));
        const unavailable = new StoreUnavailableError(`Redis failed: ${error.message}`, { cause: error });
        for (const waiting of requests) protocol.fail(waiting, unavailable);
        this.done(batch);
      },
    );
  }

  private answered(batch: Batch<Asked>, reply: BatchReply<Asked>, sentMs: number): void {
    this.clock.heard(reply.atUs, sentMs);
    if (!reply.wasWritten) this.breaker.failed(FULL);
    const again: Asked[] = [];
    for (const waiting of batch.requests) if (reply.answer(waiting)) again.push(waiting);
    if (again.length > 0) this.askAgain(again);
    this.done(batch);
  }

  /** Nothing was done: Redis needs the former numbers of an edited limit, or the calendar's windows by its own clock, which is known now. */
  private askAgain(requests: readonly Asked[]): void {
    const ready: Asked[] = [];
    for (const waiting of requests) {
      waiting.withFormer = true;
      if (++waiting.asked < MOST_ASKED) ready.push(waiting);
      else this.protocol.fail(waiting, new StoreUnavailableError('Redis has asked again too often'));
    }
    this.waiting.unshift(...ready);
  }

  private done(batch: Batch<Asked>): void {
    this.underWay.delete(batch);
    if (this.waiting.length > 0) this.scheduleFlush();
  }

  /** Looks for late requests at every beat of the clock while something is under way. */
  private scheduleSweep(): void {
    if (this.stopSweeping !== undefined || (this.underWay.size === 0 && this.waiting.length === 0)) return;
    this.stopSweeping = this.time.after(0, () => {
      this.stopSweeping = undefined;
      const { deadlineMs } = this.bounds;
      const isLate = ({ since }: Asked): boolean => this.time.passed(since, deadlineMs);
      const reason = `no answer within ${deadlineMs} ms`;
      if (this.fail(isLate, reason)) this.breaker.failed(storeFailure('TIMEOUT', reason));
      this.scheduleSweep();
    });
  }

  /** Whether there were any. */
  private fail(which: (waiting: Asked) => boolean, reason: string): boolean {
    let error: StoreUnavailableError | undefined;
    for (const batch of this.underWay.now()) {
      // The first of a batch has waited longest.
      if (!which(batch.requests[0]!)) continue;
      error ??= new StoreUnavailableError(reason);
      for (const waiting of batch.requests) this.protocol.fail(waiting, error);
      // A call without an answer must not hold its place for ever.
      this.underWay.delete(batch);
    }
    // They wait in the order in which they came.
    const first = this.waiting.findIndex((waiting) => !which(waiting));
    for (const waiting of this.waiting.splice(0, first === -1 ? this.waiting.length : first)) {
      this.protocol.fail(waiting, (error ??= new StoreUnavailableError(reason)));
    }
    return error !== undefined;
  }

  /** What the key of a request's first bucket has in braces, which is what a cluster goes by. */
  private hashTagOf(waiting: Asked): string {
    const key = this.protocol.keyOf(waiting);
    return tagOf(key) || key;
  }
}
