import {
  allPass,
  isPenaltyTake,
  isProvoked,
  StoreUnavailableError,
  takesOfRetry,
  type BucketLevel,
  type BucketLooker,
  type BucketStore,
  type BucketTake,
  type PenaltyTake,
  type Receipt,
  type RetryState,
  type SlotHolder,
  type TakeAnswer,
  type TakeOutcome,
  type TakeRequest,
} from '#limiter';
import { tagOf } from '../connection/cluster-slot.js';
import { clusterBucketKey, clusterMarkKey } from '../redis-keys.js';
import { rememberTakenAt } from './taken-at.js';

/** What a request asks of the buckets of one slot. */
export interface Part {
  /** What stands in the braces of its keys. */
  readonly tag: string;
  readonly takes: readonly BucketTake[];
  /** Where its takes stood in the request. */
  readonly places: readonly number[];
}

/** The part of a store that has a key. */
export type PartOfStore = BucketStore & BucketLooker & { readonly clockOffsetMs: number };

/**
 * By slot, in the order in which they are asked: first the merchant's own buckets, and last those of the platform, which stand first in a request. So
 * what is refused for an address, say, has taken nothing from what all share. Most requests have one part.
 */
export function partsOf(takes: readonly BucketTake[]): Part[] {
  const parts = new Map<string, { tag: string; takes: BucketTake[]; places: number[] }>();
  takes.forEach((take, place) => {
    const key = clusterBucketKey(take.key);
    const tag = tagOf(key);
    const part = parts.get(tag) ?? { tag, takes: [], places: [] };
    parts.set(tag, part);
    part.takes.push(key === take.key ? take : { ...take, key });
    part.places.push(place);
  });
  const inOrder = [...parts.values()];
  return inOrder.length === 1 ? inOrder : [...inOrder.filter((part) => !isShared(part)), ...inOrder.filter(isShared).reverse()];
}

function isShared({ tag }: Part): boolean {
  return tag.startsWith('{:');
}

const NOBODY_WAITS: TakeAnswer = () => {};

interface Taken {
  readonly part: Part;
  readonly request: TakeRequest;
  readonly levels: readonly BucketLevel[];
  readonly atUs: number;
  readonly state: RetryState | undefined;
}

/**
 * Asks a request whose buckets lie in several slots of a cluster, slot after slot. What a refusal or a failure finds taken by then is given back, so in the end
 * it takes from all or from none; in between, a moment long, other requests find less than there is.
 */
export class TakeInParts {
  private readonly taken: Taken[] = [];

  constructor(
    private readonly parts: readonly Part[],
    private readonly request: TakeRequest,
    private readonly storeOf: (key: string) => PartOfStore,
    private readonly answer: TakeAnswer,
  ) {}

  start(): void {
    this.ask(this.parts[0]!);
  }

  private ask(part: Part): void {
    const { holder, spare } = this.request;
    const [first] = this.taken;
    const takes = first?.state === 'retried' ? takesOfRetry(part.takes) : part.takes;
    const retry = first === undefined ? retryAt(part, this.request) : undefined;
    const request: TakeRequest = { takes, holder, spare, retry };
    this.storeOf(takes[0]!.key).take(request, (outcome, atUs, _remembered, state) => {
      if (outcome instanceof Error) {
        this.giveBack();
        this.answer(outcome, 0);
        return;
      }
      const asked = state === 'retried' ? { ...request, takes: takesOfRetry(takes) } : request;
      const taken: Taken = { part, request: asked, levels: outcome, atUs, state };
      if (allPass(asked, outcome)) this.passed(taken);
      else void this.refused(taken);
    });
  }

  private passed(taken: Taken): void {
    this.taken.push(taken);
    const next = this.parts[this.taken.length];
    if (next !== undefined) return this.ask(next);
    const [{ atUs, state }] = this.taken as [Taken];
    for (const part of this.taken) rememberTakenAt(part.levels, part.atUs);
    this.answer(this.inOrder(this.taken), atUs, undefined, state);
  }

  /** The buckets that were not asked are looked at, because the answer tells of all. */
  private async refused(taken: Taken): Promise<void> {
    const before = [...this.taken];
    this.giveBack();
    const rest = this.parts.slice(before.length + 1);
    const looked = await Promise.all(
      rest.map(async (part) => ({ part, levels: await Promise.all(part.takes.map((take) => this.storeOf(take.key).look(take))) })),
    ).catch((error: unknown) => error as Error);
    if (looked instanceof Error) {
      this.answer(asOutcome(looked), 0);
      return;
    }
    const state = taken.state ?? before[0]?.state;
    if (state !== 'retried') for (const { part, levels } of looked) this.countRefusals(part, levels);
    this.answer(this.inOrder([...before, taken, ...looked]), taken.atUs, undefined, state);
  }

  /** Penalties count what their limits refuse, whichever slot has refused first. */
  private countRefusals({ takes }: Part, levels: readonly BucketLevel[]): void {
    takes.forEach((take, i) => {
      if (!isPenaltyTake(take) || !isProvoked({ ...this.request, takes }, levels, i)) return;
      const { key, bucket, cost } = take;
      const told: PenaltyTake = { key, bucket, cost, untold: { count: 1, sinceUs: 0 } };
      this.storeOf(key).take({ takes: [told], holder: 0, spare: false }, NOBODY_WAITS);
    });
  }

  private giveBack(): void {
    const { holder } = this.request;
    for (const { part, request, levels, atUs, state } of this.taken) {
      const { takes, retry } = request;
      this.storeOf(part.takes[0]!.key).refund({ takes, levels, takenAtUs: atUs, holder, retry: state === 'marked' ? retry : undefined });
    }
  }

  private inOrder(asked: readonly { readonly part: Part; readonly levels: readonly BucketLevel[] }[]): BucketLevel[] {
    const levels: BucketLevel[] = [];
    for (const { part, levels: found } of asked) part.places.forEach((place, i) => (levels[place] = found[i]!));
    return levels;
  }
}

/** Only with its merchant's buckets can a mark be asked for in the same call: requests without any are charged whatever they say. */
export function retryAt(part: Part, { retry }: TakeRequest): TakeRequest['retry'] {
  if (retry === undefined) return undefined;
  const mark = clusterMarkKey(retry.mark);
  return tagOf(mark) === part.tag ? { ...retry, mark, counter: clusterMarkKey(retry.counter) } : undefined;
}

/** What each part of a store is to be given back. */
export function partsGivenBack(receipt: Receipt | SlotHolder): (Receipt | SlotHolder)[] {
  const { takes, holder } = receipt;
  const parts = partsOf(takes);
  if (!('levels' in receipt)) return parts.map((part) => ({ takes: part.takes, holder }));
  const { levels, takenAtUs, retry } = receipt;
  return parts.map((part) => {
    const mark = retryAt(part, { takes, holder, spare: false, retry });
    // Whether a retry went by uncharged is known where its mark is. Elsewhere what was taken stays taken, but for slots.
    if (retry !== undefined && mark === undefined) return { takes: part.takes, holder };
    return { takes: part.takes, holder, levels: part.places.map((place) => levels[place]!), takenAtUs, retry: mark };
  });
}

function asOutcome(error: Error): TakeOutcome {
  return error instanceof StoreUnavailableError || error.name === 'NewerRulesError'
    ? (error as Exclude<TakeOutcome, readonly BucketLevel[]>)
    : new StoreUnavailableError(error.message, { cause: error });
}
