import { setTimeout as sleepFor } from 'node:timers/promises';
import type { CheckRequest } from './check-request.js';
import type { MadeDecision } from './decision.js';
import type { Decisions } from './decisions.js';

export interface WaitersOptions {
  readonly decisions: Pick<Decisions, 'check' | 'giveBack'>;
  /** Calls that wait at once; a tenth of them for one merchant. */
  readonly most: number;
  /** The longest that anybody waits, whatever was asked. */
  readonly maxWaitMs: number;
  /** Everybody is answered when this process ends. */
  readonly stopping: AbortSignal;
  /** Of a clock that is never set. */
  readonly nowMs?: () => number;
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** So many calls wait, in all or for one merchant, that this one cannot. Nothing was taken for it. */
export class TooManyWaitingError extends Error {
  constructor() {
    super('too many calls wait for tokens');
    this.name = 'TooManyWaitingError';
  }
}

/** Others may have been faster, over and over: then it is not asked more often than this. */
const LEAST_WAIT_MS = 5;
const MERCHANTS_PART = 10;

const sleepUntil = (ms: number, signal: AbortSignal): Promise<void> => sleepFor(ms, undefined, { signal }).catch(() => {});

/** Calls that wait until the tokens that they want are there. Whoever is first when they are gets them; there is no queue. */
export class Waiters {
  private readonly ofMerchant = new Map<string, number>();
  private waiting = 0;

  constructor(private readonly options: WaitersOptions) {}

  /** How many calls wait now. */
  get count(): number {
    return this.waiting;
  }

  /**
   * A decision that passes, as soon as there is one; or the refusal, at once, if there will be none within `maxWaitMs`.
   *
   * @param left whoever asked has gone: it is answered with the refusal, and nothing is taken for it any more
   * @throws TooManyWaitingError, and what a check throws
   */
  async wait(request: CheckRequest, maxWaitMs: number, left: AbortSignal, requestId = ''): Promise<MadeDecision> {
    const { decisions, stopping, nowMs = () => performance.now() } = this.options;
    const untilMs = nowMs() + Math.min(maxWaitMs, this.options.maxWaitMs);
    const first = await decisions.check(request, requestId);
    if (first.allowed || !isWorthWaiting(first, untilMs - nowMs())) return first;
    this.enter(request.merchant);
    try {
      return await this.ask(request, { first, untilMs, nowMs, ended: AbortSignal.any([left, stopping]), requestId });
    } finally {
      this.leave(request.merchant);
    }
  }

  private async ask(request: CheckRequest, { first, untilMs, nowMs, ended, requestId }: Asking): Promise<MadeDecision> {
    const { decisions, sleep = sleepUntil } = this.options;
    let refused = first;
    while (!ended.aborted && isWorthWaiting(refused, untilMs - nowMs())) {
      await sleep(Math.max(LEAST_WAIT_MS, refused.retryAfterMs as number), ended);
      if (ended.aborted) break;
      const decision = await decisions.check(request, requestId);
      if (decision.allowed && !ended.aborted) return decision;
      // Nobody is there to use it.
      if (decision.allowed) decisions.giveBack(decision);
      else refused = decision;
    }
    return refused;
  }

  private enter(merchant: string): void {
    const { most } = this.options;
    const count = this.ofMerchant.get(merchant) ?? 0;
    if (this.waiting >= most || count >= Math.ceil(most / MERCHANTS_PART)) throw new TooManyWaitingError();
    this.waiting++;
    this.ofMerchant.set(merchant, count + 1);
  }

  private leave(merchant: string): void {
    this.waiting--;
    const count = this.ofMerchant.get(merchant)! - 1;
    if (count === 0) this.ofMerchant.delete(merchant);
    else this.ofMerchant.set(merchant, count);
  }
}

interface Asking {
  readonly first: MadeDecision;
  readonly untilMs: number;
  readonly nowMs: () => number;
  readonly ended: AbortSignal;
  readonly requestId: string;
}

/** Not if it never passes, or nobody can say when. */
function isWorthWaiting({ retryAfterMs }: MadeDecision, leftMs: number): boolean {
  return typeof retryAfterMs === 'number' && Math.max(LEAST_WAIT_MS, retryAfterMs) <= leftMs;
}
