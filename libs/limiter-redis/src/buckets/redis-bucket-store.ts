import {
  checkLend,
  checkOperation,
  NewerRulesError,
  readingOf,
  StoreUnavailableError,
  type Bucket,
  type BucketLender,
  type BucketLevel,
  type BucketLooker,
  type BucketOperation,
  type BucketOperator,
  type BucketReading,
  type BucketStore,
  type BucketTake,
  type Clock,
  type LendAnswer,
  type LendRequest,
  type Receipt,
  type SlotHolder,
  type TakeAnswer,
  type TakeRequest,
} from '#limiter';
import { runningTime, type RunningTime } from '#waiting';
import { MOST_ASKED } from './batcher.js';
import { Breaker } from '../connection/breaker.js';
import { ConnectionFault } from '../connection/connection-fault.js';
import { LendBatcher } from './lend-batcher.js';
import { OperationReply, packOperation, tokensOf } from './operate-call.js';
import { probeOf } from './probe-take.js';
import type { Redis } from 'ioredis';
import type { MasterName } from '../connection/per-master.js';
import { isCluster, reconnect, type RedisConnection } from '../connection/redis-connection.js';
import { storeFailure, type StoreFailure } from '../connection/redis-error.js';
import { RefundSender } from './refund-sender.js';
import { Script } from '../scripts.js';
import { ServerClock } from '../connection/server-clock.js';
import { TakeBatcher } from './take-batcher.js';
import { packTakes, TakeReply } from './take-call.js';
import { FULL } from '../connection/unwritten-call.js';

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
  /** Told of every call with takes that was answered: how long that took in milliseconds, and the requests in it. */
  onCall?: (tookMs: number, requests: number) => void;
  /** Told the same of every call about leases. */
  onLendCall?: (tookMs: number, words: number) => void;
}

/** Buckets in Redis, be it one server or a cluster of them. */
export interface RedisBuckets extends BucketStore, BucketOperator, BucketLooker, BucketLender {
  /** By how much the clock of Redis is ahead of this machine's. Milliseconds, as exact as the way to Redis is short. */
  readonly clockOffsetMs: number;
  /** Whether takes are carried out. Of a cluster: by all of its masters. */
  readonly available: boolean;
  /** Whether Redis can be asked, be it only to read. Of a cluster: some of its masters. */
  readonly readable: boolean;
  /** Why it is not available. */
  readonly failure: StoreFailure | undefined;
  /**
   * Another call on the connection of takes. If Redis has not sent a byte by the deadline, it is frozen: what was sent after this call is not waited for any
   * longer than the call itself. So a request that reads its merchant's rules first is answered as soon as any other.
   *
   * @param answered does not reject
   * @param key that is asked for
   */
  readonly watch: (answered: Promise<void>, key: string) => void;
  /** Fails what is under way and stops probing. The connection stays its owner's. */
  close(): void;
}

/** The server that carries the takes out. */
export interface StoreServer {
  /** Undefined while there is no connection. */
  readonly stream: () => Redis['stream'] | undefined;
  readonly reconnect: () => void;
  /** Of the bucket that probes take from. */
  readonly probeKey: () => string;
  /** Of a cluster, which of its masters. */
  readonly master?: MasterName;
}

const CALLS_TO_A_CLUSTER = 64;

const takeScript = new Script('take');
const operateScript = new Script('operate');

/**
 * Buckets in Redis. If Redis does not answer in time a breaker opens, and takes fail at once until it answers again. A full Redis is asked
 * all the same: it can still refuse.
 */
export class RedisBucketStore implements RedisBuckets {
  private readonly deadlineMs: number;
  private readonly breaker: Breaker;
  private readonly fault: ConnectionFault;
  private readonly clock: ServerClock;
  private readonly time: RunningTime;
  private readonly takes: TakeBatcher;
  private readonly lends: LendBatcher;
  private readonly refunds: RefundSender;

  constructor(
    private readonly redis: RedisConnection,
    options: RedisBucketStoreOptions = {},
    private readonly server: StoreServer = onlyServer(redis),
  ) {
    const { deadlineMs = 25, batchSize = 128, maxWaiting = 10_000 } = options;
    this.deadlineMs = deadlineMs;
    this.clock = new ServerClock(options.clock);
    this.time = options.time ?? runningTime;
    this.fault = new ConnectionFault(redis, () => this.breaker.suspect(), server.master);
    this.breaker = new Breaker({
      probe: () => this.probe(),
      deadlineMs,
      time: this.time,
      reconnect: server.reconnect,
      ...(options.onAvailability && { onChange: options.onAvailability }),
      ...(options.onFailure && { onFailure: options.onFailure }),
    });
    const { clock, time, breaker, fault } = this;
    const connection = { redis, clock, time, breaker, fault };
    const maxCalls = options.maxCalls ?? (redis.isCluster ? CALLS_TO_A_CLUSTER : 4);
    const bounds = { deadlineMs, batchSize, maxCalls, maxWaiting };
    this.takes = new TakeBatcher(connection, { ...bounds, onCall: options.onCall ?? (() => {}) });
    this.lends = new LendBatcher(connection, { ...bounds, onCall: options.onLendCall ?? (() => {}) });
    // In a cluster the keys of one call have to be of one merchant.
    this.refunds = new RefundSender(redis, this.clock, redis.isCluster ? 1 : batchSize);
  }

  get clockOffsetMs(): number {
    return this.clock.offsetMs;
  }

  get available(): boolean {
    return this.breaker.closed;
  }

  get readable(): boolean {
    return this.breaker.closed || this.breaker.failure?.stillReads === true;
  }

  get failure(): StoreFailure | undefined {
    return this.breaker.failure;
  }

  readonly watch = (answered: Promise<void>): void => {
    const stream = this.server.stream();
    if (stream === undefined) return;
    const heard = stream.bytesRead;
    const reason = `no answer within ${this.deadlineMs} ms`;
    const callOff = this.time.after(this.deadlineMs, () => {
      // The connection may be another one by now, and a long answer may be on its way.
      if (this.server.stream() !== stream || stream.bytesRead !== heard) return;
      this.takes.giveUp(reason);
      this.lends.giveUp(reason);
      this.breaker.failed(storeFailure('TIMEOUT', reason));
    });
    void answered.then(callOff);
  };

  take(request: TakeRequest, answer: TakeAnswer): void {
    if (this.readable) this.takes.add(request, answer);
    else answer(new StoreUnavailableError('Redis is not answering'), 0);
  }

  /** If Redis does not answer, slots time out. */
  release({ takes, holder }: SlotHolder): void {
    // Of a receipt, only the slots.
    this.refunds.add({ takes, holder });
  }

  refund(receipt: Receipt): void {
    this.refunds.add(receipt);
  }

  lend(request: LendRequest, answer: LendAnswer): void {
    checkLend(request);
    // A full Redis lends nothing, so it is not asked.
    if (this.available) this.lends.add(request, answer);
    else answer(new StoreUnavailableError('Redis is not answering'), 0);
  }

  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    checkOperation(bucket, operation);
    const take: BucketTake = { key, bucket, cost: tokensOf(operation) };
    const reply = await this.askOperation(take, operation);
    return readingOf(bucket, reply.level(take), reply.blockedForUs);
  }

  async look(take: BucketTake): Promise<BucketLevel> {
    const reply = await this.askOperation(take, { kind: 'read' });
    return reply.blockedForUs > 0 ? { blockedForUs: reply.blockedForUs } : reply.level(take);
  }

  /** @throws NewerRulesError, StoreUnavailableError */
  private async askOperation(take: BucketTake, operation: BucketOperation): Promise<OperationReply> {
    if (!this.readable) throw new StoreUnavailableError('Redis is not answering');
    for (let asked = 0; asked < MOST_ASKED; asked++) {
      const sentMs = performance.now();
      const numbers = await this.inTime(
        operateScript.runPacked(this.redis, () => packOperation(take, operation, asked > 0, this.clock.nowMs, this.clock.ofScripts)),
      );
      const reply = new OperationReply(numbers as number[]);
      this.clock.heard(reply.atUs, sentMs);
      if (reply.problem === 'stale') throw new NewerRulesError(Math.abs(reply.atUs));
      // Nothing was done: Redis wants former numbers, or other windows of the calendar.
      if (reply.problem === 'again') continue;
      if (reply.atUs < 0 && operation.kind !== 'read') {
        this.breaker.failed(FULL);
        throw new StoreUnavailableError(`Redis failed: ${FULL.said}`);
      }
      return reply;
    }
    throw new StoreUnavailableError('Redis has asked again too often');
  }

  close(): void {
    this.breaker.close();
    this.fault.close();
    this.takes.close();
    this.lends.close();
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

  /** A take like any other: a server that can do all but this is of no use. */
  private async probe(): Promise<StoreFailure | undefined> {
    try {
      const probe = probeOf(this.server.probeKey());
      const numbers = await takeScript.runPacked(this.redis, () => packTakes([probe], this.clock.nowMs, this.clock.ofScripts));
      return new TakeReply(numbers as number[]).wasWritten ? undefined : FULL;
    } catch (error) {
      return this.fault.explain(error);
    }
  }
}

function onlyServer(redis: RedisConnection): StoreServer {
  // A cluster has many streams.
  const stream = (): Redis['stream'] | undefined => (isCluster(redis) ? undefined : redis.stream);
  return { stream, reconnect: () => reconnect(redis), probeKey: () => 'probe' };
}
