import { penalized, type PenaltyBucket, type PenaltyState } from './algorithms/penalty/penalty.js';
import { isBlocked, type BlockedLevel } from './block.js';
import type { Retry } from './retry-policy.js';
import { allows, isBypassed, levelAt, levelFor, stateAfter, suffices, type Bucket, type BucketLevel, type BucketState } from './bucket.js';

/** What a request asks of one bucket. */
export interface BucketTake {
  readonly key: string;
  readonly bucket: Bucket;
  /** Whole tokens, >= 0. */
  readonly cost: number;
  /** Only of a KeptTake. */
  readonly local?: object | undefined;
}

/** A take that many requests of one process ask, so that its stores keep with it what they derive from it. */
export class KeptTake<B extends Bucket = Bucket> implements BucketTake {
  /** What this process has of the bucket, so that no request looks for it: see leasing/local-buckets.ts, which alone writes it. */
  local: object | undefined = undefined;

  constructor(
    readonly key: string,
    readonly bucket: B,
    readonly cost: number,
  ) {}
}

/** What a request asks of the bucket of a penalty, which stands right behind the limits that it watches. */
export interface PenaltyTake extends BucketTake {
  readonly bucket: Bucket & PenaltyBucket;
  /** Only where the penalty is asked alone: refusals of the limits that it watches, which the store has not heard of yet. */
  readonly untold?: UntoldRefusals;
}

/** How a store makes takes that many requests ask, because it may keep with them what it derives from them. */
export type MakeTake = <B extends Bucket>(key: string, bucket: B, cost: number) => BucketTake & { readonly bucket: B };

export interface UntoldRefusals {
  readonly count: number;
  /** How long ago the first of them was, in whole microseconds. */
  readonly sinceUs: number;
}

/** The buckets of one request, and by what name it holds slots of concurrency limits. */
export interface SlotHolder {
  readonly takes: readonly BucketTake[];
  /** A name that no other request has which holds slots. 0 where none of the limits has slots. */
  readonly holder: number;
}

/** A request to take from all of its buckets, or from none. */
export interface TakeRequest extends SlotHolder {
  /** Whether elastic limits let it pass that have nothing left. */
  readonly spare: boolean;
  /** Where a retry of a request that was charged is not charged again. */
  readonly retry?: Retry | undefined;
}

/** What a store holds of each bucket, in the order of the takes: its state as it may be at the instant of the take, or an operator's block. */
export type HeldState = BucketState | BlockedLevel;

/**
 * Takes from all buckets of a request, or from none, and says what each of them held before. A request that is refused changes nothing but
 * the penalties that count the refusal.
 *
 * @param states found at `nowUs`, see `HeldState`. Afterwards it has what is to be written instead: undefined where nothing changed
 */
export function takeAll(request: TakeRequest, states: (HeldState | undefined)[], nowUs: number): readonly BucketLevel[] {
  const { takes } = request;
  const { bucket, cost } = takes[0]!;
  const state = states[0]!;
  if (takes.length > 1 || bucket.kind === 'penalty' || bucket.withheld > 0 || isBlocked(state)) return takeSeveral(request, states, nowUs);
  // Most requests ask one bucket, and what they ask is short enough here to be compiled into one piece. They have nothing to leave.
  const level = levelFor(bucket, state, nowUs, cost);
  states[0] = cost > 0 && suffices(bucket, level, cost) ? stateAfter(bucket, state, level, cost, nowUs, request.holder) : undefined;
  return [level];
}

function takeSeveral(request: TakeRequest, states: (HeldState | undefined)[], nowUs: number): readonly BucketLevel[] {
  const levels = request.takes.map((take, i) => levelOf(take, states[i]!, nowUs));
  const allowed = allPass(request, levels);
  states.forEach((state, i) => (states[i] = changedState(request, levels, i, state!, allowed, nowUs)));
  return levels;
}

/** The state of the bucket at an index after a request that passed, or did not; undefined if it is the same. */
function changedState(
  request: TakeRequest,
  levels: readonly BucketLevel[],
  index: number,
  state: HeldState,
  allowed: boolean,
  nowUs: number,
): BucketState | undefined {
  const take = request.takes[index]!;
  if (isPenaltyTake(take)) return isProvoked(request, levels, index) ? penaltyAfter(take, state as PenaltyState, nowUs) : undefined;
  const { bucket, cost } = take;
  const level = levels[index]!;
  if (!allowed || cost === 0 || (isBypassed(bucket, request.spare) && !allows(bucket, level, cost))) return undefined;
  return stateAfter(bucket, state as BucketState, level, cost, nowUs, request.holder);
}

function levelOf({ bucket, cost }: BucketTake, state: HeldState, nowUs: number): BucketLevel {
  return isBlocked(state) ? state : levelAt(bucket, state, nowUs, cost);
}

function penaltyAfter({ bucket, untold }: PenaltyTake, state: PenaltyState, nowUs: number): PenaltyState | undefined {
  const after = penalized(bucket, state, nowUs, untold?.count, nowUs - (untold?.sinceUs ?? 0));
  return after === state ? undefined : after;
}

/** Whether a request passes that found its buckets at these levels. */
export function allPass({ takes, spare }: TakeRequest, levels: readonly BucketLevel[]): boolean {
  for (let i = 0; i < takes.length; i++) {
    if (!passes(takes[i]!, levels[i]!, spare)) return false;
  }
  return true;
}

/** Whether one bucket of a request lets it pass. */
export function passes({ bucket, cost }: BucketTake, level: BucketLevel, spare: boolean): boolean {
  return allows(bucket, level, cost) || (isBypassed(bucket, spare) && !isBlocked(level));
}

export function isPenaltyTake(take: BucketTake): take is PenaltyTake {
  return take.bucket.kind === 'penalty';
}

/**
 * Whether the take at an index is that of a penalty whose limits refuse the request. A request that costs nothing is never counted,
 * nor is one that an operator's block refuses.
 */
export function isProvoked({ takes, spare }: TakeRequest, levels: readonly BucketLevel[], index: number): boolean {
  const take = takes[index]!;
  if (!isPenaltyTake(take) || isBlocked(levels[index]!)) return false;
  if (take.untold !== undefined) return true;
  if (take.cost === 0) return false;
  let refused = false;
  for (let i = index - take.bucket.watches; i < index; i++) {
    if (isBlocked(levels[i]!)) return false;
    if (!passes(takes[i]!, levels[i]!, spare)) refused = true;
  }
  return refused;
}
