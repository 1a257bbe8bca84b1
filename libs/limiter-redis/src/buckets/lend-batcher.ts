import { NewerRulesError, StoreUnavailableError, type LendAnswer, type LendOutcome, type LendRequest } from '#limiter';
import type { RunningTime } from '#waiting';
import { Batcher, type BatcherBounds, type BatcherConnection, type BatchProtocol, type BatchReply, type Waiting } from './batcher.js';
import { LendReply, packLends } from './lend-call.js';
import { Script } from '../scripts.js';
import { FULL } from '../connection/unwritten-call.js';

interface WaitingLend extends Waiting {
  readonly request: LendRequest;
  /** Undefined after it was called. */
  answer: LendAnswer | undefined;
}

class LendReplies implements BatchReply<WaitingLend> {
  private readonly reply: LendReply;

  constructor(numbers: readonly number[]) {
    this.reply = new LendReply(numbers);
  }

  get atUs(): number {
    return this.reply.atUs;
  }

  get wasWritten(): boolean {
    return this.reply.wasWritten;
  }

  answer(waiting: WaitingLend): boolean {
    const lent = this.reply.next(waiting.request);
    if (lent === 'again') return true;
    const atUs = Math.abs(this.atUs);
    if (lent === 'stale') settle(waiting, new NewerRulesError(atUs));
    // What is not written is not lent, nor taken.
    else if (this.wasWritten) settle(waiting, lent, atUs);
    else settle(waiting, new StoreUnavailableError(`Redis failed: ${FULL.said}`));
    return false;
  }
}

const PROTOCOL: BatchProtocol<WaitingLend> = {
  script: new Script('lend'),
  pack: (waiting, nowMs, clock) =>
    packLends(
      waiting.map(({ request }) => request),
      nowMs,
      clock,
    ),
  read: (numbers) => new LendReplies(numbers),
  fail: (waiting, error) => settle(waiting, error),
  keyOf: ({ request }) => request.key,
};

/** Sends words about leases together. */
export class LendBatcher {
  private readonly batcher: Batcher<WaitingLend>;
  private readonly time: RunningTime;

  constructor(connection: BatcherConnection, bounds: BatcherBounds) {
    this.batcher = new Batcher(connection, bounds, PROTOCOL);
    this.time = connection.time;
  }

  add(request: LendRequest, answer: LendAnswer): void {
    if (this.batcher.isFull) answer(new StoreUnavailableError('too many leases are waiting for Redis'), 0);
    else this.batcher.add({ request, since: this.time.nowMs, asked: 0, withFormer: true, answer });
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

function settle(waiting: WaitingLend, outcome: LendOutcome, atUs = 0): void {
  const { answer } = waiting;
  waiting.answer = undefined;
  answer?.(outcome, atUs);
}
