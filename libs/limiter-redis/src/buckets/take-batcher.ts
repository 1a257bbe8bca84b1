import {
  asRetry,
  NewerRulesError,
  StoreUnavailableError,
  type TakeAnswer,
  type TakeOutcome,
  type TakeRequest,
  type RetryState,
} from '#limiter';
import type { RunningTime } from '#waiting';
import { Batcher, type BatcherBounds, type BatcherConnection, type BatchProtocol, type BatchReply, type Waiting } from './batcher.js';
import { Script } from '../scripts.js';
import { packTakes, TakeReply } from './take-call.js';
import { UnwrittenCall } from '../connection/unwritten-call.js';

interface WaitingTake extends TakeRequest, Waiting {
  /** Undefined after it was called. */
  answer: TakeAnswer | undefined;
}

class TakeReplies implements BatchReply<WaitingTake> {
  private readonly reply: TakeReply;
  private readonly unwritten: UnwrittenCall | undefined;

  constructor(numbers: readonly number[]) {
    this.reply = new TakeReply(numbers);
    this.unwritten = this.reply.wasWritten ? undefined : new UnwrittenCall();
  }

  get atUs(): number {
    return this.reply.atUs;
  }

  get wasWritten(): boolean {
    return this.reply.wasWritten;
  }

  answer(waiting: WaitingTake): boolean {
    const { reply, unwritten } = this;
    const atUs = Math.abs(reply.atUs);
    const state = waiting.retry === undefined ? undefined : reply.retryState();
    const levels = reply.next(waiting.takes);
    if (levels === 'again') return true;
    if (levels === 'stale') settle(waiting, new NewerRulesError(atUs));
    else settle(waiting, unwritten ? unwritten.outcome(state === 'retried' ? asRetry(waiting) : waiting, levels) : levels, atUs, state);
    return false;
  }
}

const PROTOCOL: BatchProtocol<WaitingTake> = {
  script: new Script('take'),
  pack: packTakes,
  read: (numbers) => new TakeReplies(numbers),
  fail: (waiting, error) => settle(waiting, error),
  keyOf: ({ takes }) => takes[0]?.key ?? '',
};

/** Sends takes together. */
export class TakeBatcher {
  private readonly batcher: Batcher<WaitingTake>;
  private readonly time: RunningTime;

  constructor(connection: BatcherConnection, bounds: BatcherBounds) {
    this.batcher = new Batcher(connection, bounds, PROTOCOL);
    this.time = connection.time;
  }

  add({ takes, holder, spare, retry }: TakeRequest, answer: TakeAnswer): void {
    if (this.batcher.isFull) answer(new StoreUnavailableError('too many takes are waiting for Redis'), 0);
    else this.batcher.add({ takes, holder, spare, retry, since: this.time.nowMs, asked: 0, withFormer: false, answer });
  }

  /** Fails what is under way. */
  close(): void {
    this.batcher.close();
  }

  /** Fails what is under way and what waits. */
  giveUp(reason: string): void {
    this.batcher.giveUp(reason);
  }
}

function settle(waiting: WaitingTake, outcome: TakeOutcome, atUs = 0, state?: RetryState): void {
  const { answer } = waiting;
  waiting.answer = undefined;
  answer?.(outcome, atUs, 'store', state);
}
