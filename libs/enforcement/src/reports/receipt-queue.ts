import type { Descriptor } from '#limiter';
import type { Outcome } from '../outcome.js';
import { NO_MERCHANT, SecondBound } from './second-bound.js';

/** A decision that is going to be written down. Nothing of it is computed before that. */
export interface NotedDecision {
  readonly requestId: string;
  readonly descriptor: Descriptor;
  readonly outcome: Outcome;
  /** By a clock that never steps back. Milliseconds. */
  readonly atMs: number;
}

export interface ReceiptQueueOptions {
  /** Receipts that this gateway notes in a second; 0: none at all. */
  readonly perSecond: number;
  /** Of how many requests that passed one is noted; 0: of none. */
  readonly passedOneIn: number;
  /** Whether there is a merchant of this id, as far as this process knows. */
  readonly isMerchant: (merchantId: string) => boolean;
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

/** Seconds in which Redis may be away before receipts are dropped. */
const SECONDS_KEPT = 5;

/** What passed may use up this part of each bound: somebody will ask about the refusals. */
const PART_OF_PASSED = 0.5;

/** Why a decision was not noted. Fit for a label. */
export type NotNoted = 'merchant_rate' | 'rate' | 'queue_full';

/**
 * The decisions that are going to be written down: refusals, and a few of those that passed, within bounds for a second, for a merchant and for
 * what waits. Beyond them a refusal costs a comparison or a look-up.
 */
export class ReceiptQueue {
  readonly notNoted: Record<NotNoted, number> = { merchant_rate: 0, rate: 0, queue_full: 0 };
  private noted: NotedDecision[] = [];
  private readonly bound: SecondBound;
  private readonly mostWaiting: number;
  private untilSample: number;

  constructor(private readonly options: ReceiptQueueOptions) {
    this.bound = new SecondBound(options.perSecond);
    this.mostWaiting = SECONDS_KEPT * options.perSecond;
    this.untilSample = this.nextSample();
  }

  /** @param requestId '' for a request that nobody could ask about: it is not noted */
  offer(requestId: string, descriptor: Descriptor, outcome: Outcome): void {
    // What is over a limit has a receipt, wherever it goes.
    const isSampled = outcome.allowed && outcome.reason !== 'rerouted';
    if (isSampled && --this.untilSample > 0) return;
    if (isSampled) this.untilSample = this.nextSample();
    if (requestId !== '' && this.options.perSecond > 0) this.note(requestId, descriptor, outcome, isSampled ? PART_OF_PASSED : 1);
  }

  /** What has been noted since the last time. */
  take(): NotedDecision[] {
    const { noted } = this;
    if (noted.length > 0) this.noted = [];
    return noted;
  }

  /** What could not be written; the newest are dropped if there is no room. */
  putBack(noted: readonly NotedDecision[]): void {
    const all = [...noted, ...this.noted];
    this.noted = all.slice(0, this.mostWaiting);
    this.notNoted.queue_full += all.length - this.noted.length;
  }

  private note(requestId: string, descriptor: Descriptor, outcome: Outcome, part: number): void {
    const atMs = this.options.now();
    const { merchantId } = descriptor;
    const share = this.options.isMerchant(merchantId) ? merchantId : NO_MERCHANT;
    const bound = this.bound.metBy(share, atMs, part);
    if (bound !== undefined) {
      this.notNoted[bound]++;
      return;
    }
    if (this.noted.length >= this.mostWaiting * part) {
      this.notNoted.queue_full++;
      return;
    }
    this.bound.count(share);
    this.noted.push({ requestId, descriptor, outcome, atMs });
  }

  /** One in so many on average, and never in step with what repeats itself. */
  private nextSample(): number {
    const { passedOneIn, random = Math.random } = this.options;
    return passedOneIn === 0 ? Infinity : 1 + Math.floor(random() * (2 * passedOneIn - 1));
  }
}
