import type { Decision } from '../../buckets/decision.js';
import type { BucketAlgorithm, LimitBeginning, PastTake } from '../algorithm.js';
import { debtOfFraction, tokensOfDebt, type Amount } from '../amount.js';
import { ceilMs, spanOf, tokensIn, type Rate, type Span } from '../exact-span.js';

/**
 * Continuous refill. The whole state of a bucket is one instant: when it will be full. What is missing from it is a
 * debt of time that shrinks by one microsecond every microsecond, so refilling is a subtraction and an idle bucket
 * needs no upkeep. The same idea as GCRA's theoretical arrival time (ATM Forum TM 4.0, annex), read from the other end.
 *
 * A bucket above its capacity (a launch surplus) has a negative debt that shrinks to zero as well; its state is the
 * negated instant at which the surplus is gone.
 */
export interface GreedyState {
  /** Instant in microseconds; negative for a surplus. */
  readonly whole: number;
  readonly part: number;
}

/** What is missing from the bucket at an instant, in time: `debtUs` + part / n microseconds. */
export interface GreedyLevel {
  readonly debtUs: number;
  readonly part: number;
}

export interface GreedyBucket {
  readonly kind: 'greedy';
  readonly capacity: number;
  readonly rate: Rate;
  /** Time to full from empty: the largest debt. */
  readonly full: Span;
  /** The time that one token takes; `greedyCost` saves the multiplication for the usual cost of 1. */
  readonly token: Span;
  /** The largest surplus, as a negative debt. */
  readonly surplusUs: number;
  readonly start: GreedyState;
  /** Of a queue: who would wait longer than this is refused. */
  readonly maxWaitUs?: number;
}

/** The start of a bucket that begins full: it was full at any time before, whatever the clock says then. */
const FULL_AT_START: GreedyState = { whole: 0, part: 0 };

export function greedyBucket(rate: Rate, { capacity, missing, startedAtUs }: Omit<LimitBeginning, 'timeZone'>): GreedyBucket {
  const level = levelMissing(missing, rate);
  return {
    kind: 'greedy',
    capacity,
    rate,
    full: spanOf(capacity, rate),
    token: spanOf(1, rate),
    surplusUs: Math.min(0, level.debtUs),
    start: level.debtUs === 0 && level.part === 0 ? FULL_AT_START : greedyState(level, startedAtUs),
  };
}

function levelMissing(missing: Amount, rate: Rate): GreedyLevel {
  if (missing.whole < 0) return negated(spanOf(-missing.whole, rate), rate.n);
  const { whole, part } = spanOf(missing.whole, rate);
  const parts = part + debtOfFraction(missing, rate);
  const carry = Math.floor(parts / rate.n);
  return { debtUs: whole + carry, part: parts - carry * rate.n };
}

function negated(span: Span, n: number): GreedyLevel {
  return span.part === 0 ? { debtUs: 0 - span.whole, part: 0 } : { debtUs: -span.whole - 1, part: n - span.part };
}

/** Neither emptier than empty nor with a larger surplus than the limit began with. */
function clamped(bucket: GreedyBucket, state: GreedyState, nowUs: number): GreedyState {
  const { whole, part } = state;
  if (whole < 0) return whole + nowUs < bucket.surplusUs ? greedyState({ debtUs: bucket.surplusUs, part: 0 }, nowUs) : state;
  const { full } = bucket;
  const debtUs = whole - nowUs;
  return debtUs > full.whole || (debtUs === full.whole && part > full.part) ? { whole: nowUs + full.whole, part: full.part } : state;
}

function greedyLevel(_bucket: GreedyBucket, { whole, part }: GreedyState, nowUs: number): GreedyLevel {
  const debtUs = whole < 0 ? whole + nowUs : whole - nowUs;
  if (whole < 0 ? debtUs >= 0 : debtUs < 0) return FULL;
  return { debtUs, part };
}

const FULL: GreedyLevel = { debtUs: 0, part: 0 };

function greedyLater(_bucket: GreedyBucket, { debtUs, part }: GreedyLevel, us: number): GreedyLevel {
  if (debtUs < 0) return debtUs + us < 0 ? { debtUs: debtUs + us, part } : FULL;
  return debtUs >= us ? { debtUs: debtUs - us, part } : FULL;
}

/** The state that has this level at an instant. */
function greedyState(level: GreedyLevel, nowUs: number): GreedyState {
  return { whole: level.debtUs < 0 ? level.debtUs - nowUs : level.debtUs + nowUs, part: level.part };
}

export function greedyCost(bucket: GreedyBucket, cost: number): Span {
  return cost === 1 ? bucket.token : spanOf(cost, bucket.rate);
}

/** The level after spending `cost`, whether or not that is allowed. */
function greedySpent(bucket: GreedyBucket, level: GreedyLevel, cost: number): GreedyLevel {
  const price = greedyCost(bucket, cost);
  const part = level.part + price.part;
  const { n } = bucket.rate;
  return part >= n ? { debtUs: level.debtUs + price.whole + 1, part: part - n } : { debtUs: level.debtUs + price.whole, part };
}

/** The state after a request that passed: that of `greedySpent`, without an object for it, because each take makes one. */
function greedyAfter(bucket: GreedyBucket, _state: GreedyState, { debtUs, part }: GreedyLevel, cost: number, nowUs: number): GreedyState {
  const price = greedyCost(bucket, cost);
  const { n } = bucket.rate;
  const parts = part + price.part;
  const carry = parts >= n ? 1 : 0;
  const spentUs = debtUs + price.whole + carry;
  return { whole: spentUs < 0 ? spentUs - nowUs : spentUs + nowUs, part: parts - carry * n };
}

function hasRoom(bucket: GreedyBucket, spent: GreedyLevel): boolean {
  const { full } = bucket;
  return spent.debtUs < full.whole || (spent.debtUs === full.whole && spent.part <= full.part);
}

/** Whether there is room for `price` above a level: what `hasRoom` says of the sum, without an object for it, because each take asks this. */
function fits({ full, rate }: GreedyBucket, { debtUs, part }: GreedyLevel, price: Span): boolean {
  const whole = debtUs + price.whole - full.whole;
  // Between -n and 2n.
  const parts = part + price.part - full.part;
  return whole < -1 || (whole === -1 ? parts <= rate.n : whole === 0 && parts <= 0);
}

/**
 * The decision for a request that found the bucket at `level`; `taken` says whether all limits of the request passed. Sums are kept in
 * variables here and not in levels, because each decision needs them.
 */
function greedyDecision(bucket: GreedyBucket, level: GreedyLevel, cost: number, taken: boolean): Decision {
  const { capacity, full, rate, maxWaitUs = Infinity } = bucket;
  const price = greedyCost(bucket, cost);
  const carry = level.part + price.part >= rate.n ? 1 : 0;
  const spentUs = level.debtUs + price.whole + carry;
  const spentPart = level.part + price.part - carry * rate.n;
  const room = spentUs < full.whole || (spentUs === full.whole && spentPart <= full.part);
  const allowed = room && (cost === 0 || level.debtUs <= maxWaitUs);
  const afterUs = taken ? spentUs : level.debtUs;
  const afterPart = taken ? spentPart : level.part;
  const borrow = full.part < afterPart ? 1 : 0;
  const decision: Decision = {
    allowed,
    limit: capacity,
    remaining: afterUs <= maxWaitUs ? tokensIn(full.whole - afterUs - borrow, full.part - afterPart + borrow * rate.n, rate) : 0,
    retryAfterMs: allowed ? 0 : cost > capacity ? 'never' : msUntilRoom(bucket, level, { debtUs: spentUs, part: spentPart }),
    resetAfterMs: Math.max(0, ceilMs(afterUs, afterPart)),
  };
  if (bucket.maxWaitUs === undefined) return decision;
  // What stands in a queue before a request is the time until its turn.
  return { ...decision, waitMs: taken ? Math.max(0, ceilMs(level.debtUs, level.part)) : 0 };
}

function waitsNotTooLong({ maxWaitUs = Infinity }: GreedyBucket, { debtUs }: GreedyLevel): boolean {
  return debtUs <= maxWaitUs;
}

function msUntilRoom(bucket: GreedyBucket, level: GreedyLevel, spent: GreedyLevel): number {
  const tooLongMs = Math.max(0, ceilMs(level.debtUs - (bucket.maxWaitUs ?? Infinity), 0));
  return Math.max(tooLongMs, hasRoom(bucket, spent) ? 0 : msUntilFits(bucket, spent));
}

function msUntilFits(bucket: GreedyBucket, spent: GreedyLevel): number {
  const { n } = bucket.rate;
  const part = spent.part - bucket.full.part;
  const whole = spent.debtUs - bucket.full.whole;
  return part < 0 ? ceilMs(whole - 1, part + n) : ceilMs(whole, part);
}

function difference(span: Span, level: GreedyLevel, n: number): Span {
  const part = span.part - level.part;
  const whole = span.whole - level.debtUs;
  return part < 0 ? { whole: whole - 1, part: part + n } : { whole, part };
}

function missing({ rate }: GreedyBucket, { whole, part }: GreedyState, atUs: number): Amount {
  const debtUs = whole < 0 ? Math.min(0, whole + atUs) : Math.max(0, whole - atUs);
  const owesPart = whole < 0 ? whole + atUs < 0 : whole >= atUs;
  return tokensOfDebt(debtUs, owesPart ? part : 0, rate);
}

/**
 * When all that a request took has come back by itself. In a queue, after its turn. In a bucket, as if it had been full before: who
 * took earlier may have given back by now, and nobody knows.
 */
export function greedyBackAt(bucket: GreedyBucket, { level, cost, takenAtUs }: PastTake<GreedyLevel>): GreedyState {
  return greedyState(greedySpent(bucket, bucket.maxWaitUs === undefined ? FULL : level, cost), takenAtUs);
}

function greedyRefunded(bucket: GreedyBucket, state: GreedyState, past: PastTake<GreedyLevel>, nowUs: number): GreedyState {
  const back = greedyBackAt(bucket, past);
  // A surplus that was spent stays spent: it would have drained, by how much nobody knows any more.
  if (past.level.debtUs < 0 || back.whole < nowUs || state.whole < nowUs) return state;
  // A request behind it in a queue keeps the turn that was promised, so its own is lost.
  if (bucket.maxWaitUs !== undefined && (state.whole !== back.whole || state.part !== back.part)) return state;
  const missing = { whole: back.whole - nowUs, part: back.part };
  const price = greedyCost(bucket, past.cost);
  const owed = missing.whole < price.whole || (missing.whole === price.whole && missing.part < price.part) ? missing : price;
  const part = state.part - owed.part;
  const whole = state.whole - owed.whole - (part < 0 ? 1 : 0);
  return whole < nowUs ? { whole: nowUs, part: 0 } : { whole, part: part < 0 ? part + bucket.rate.n : part };
}

function greedyAdjusted(bucket: GreedyBucket, state: GreedyState, tokens: number, nowUs: number): GreedyState {
  const level = greedyLevel(bucket, state, nowUs);
  if (tokens < 0) {
    const spent = greedySpent(bucket, level, -tokens);
    return greedyState(hasRoom(bucket, spent) ? spent : { debtUs: bucket.full.whole, part: bucket.full.part }, nowUs);
  }
  if (level.debtUs < 0) return state;
  const price = greedyCost(bucket, tokens);
  const { whole, part } = difference({ whole: level.debtUs, part: level.part }, { debtUs: price.whole, part: price.part }, bucket.rate.n);
  return greedyState(whole < 0 ? FULL : { debtUs: whole, part }, nowUs);
}

export const greedyBuckets: BucketAlgorithm<GreedyBucket, GreedyState, GreedyLevel> = {
  clamped,
  level: greedyLevel,
  allows: (bucket, level, cost) => fits(bucket, level, greedyCost(bucket, cost)) && (cost === 0 || waitsNotTooLong(bucket, level)),
  after: greedyAfter,
  decide: greedyDecision,
  later: greedyLater,
  refunded: greedyRefunded,
  missing,
  adjusted: greedyAdjusted,
  stateMissing: ({ rate }, amount, atUs) => greedyState(levelMissing(amount, rate), atUs),
  occupied(bucket, state, tokens, atUs) {
    const { debtUs, part } = greedyLevel(bucket, state, atUs);
    const least = spanOf(tokens, bucket.rate);
    const isLess = debtUs < least.whole || (debtUs === least.whole && part < least.part);
    return isLess ? greedyState({ debtUs: least.whole, part: least.part }, atUs) : state;
  },
  // They wait no longer than lets those wait behind them for whom the rest is kept.
  withholding({ maxWaitUs, rate }, tokens) {
    if (maxWaitUs === undefined) return {};
    const { whole, part } = spanOf(tokens, rate);
    return { maxWaitUs: Math.max(0, maxWaitUs - whole - (part > 0 ? 1 : 0)) };
  },
  startsFull: ({ start }) => start === FULL_AT_START,
  // What waits in a queue has been admitted; what is blocked has not.
  whenBlocked: ({ maxWaitUs }) => (maxWaitUs === undefined ? {} : { waitMs: 0 }),
};
