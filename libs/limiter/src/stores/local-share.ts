import { limitAlgorithm } from '../limits/limit-algorithm.js';
import { bucketOf, neededFor } from '../buckets/bucket.js';
import { bucketsWithholding, costOf, type CompiledRule } from '../matching/compiled-rule.js';
import type { Descriptor } from '../matching/descriptor.js';
import { capacityOf, excessOf, type Limit, type LimitNumbers, type LimitStart, type PastLimit } from '../limits/limit.js';

/**
 * What one of several gateways enforces by itself while they have no common store: its share of each limit, so that all together admit what
 * one bucket would, and no gateway less than one token at a time.
 *
 * The bucket of a share counts in units smaller than a token: a token is as many units as there are gateways, and the bucket refills as fast as
 * the whole one would. So the rate is divided exactly, whatever the algorithm is, and what a gateway has spent stays spent when the number of
 * gateways changes: the same state then means the same units.
 */
export interface RuleShare {
  /** Its limits are those of the share, as headers show them; its buckets and its cost count in units. */
  readonly compiled: CompiledRule;
  readonly unitsPerToken: number;
}

/** A count above this is an error in counting. */
export const MOST_GATEWAYS = 1000;

/** @param gateways 1 to MOST_GATEWAYS */
export function ruleShare(compiled: CompiledRule, gateways: number): RuleShare {
  let share = SHARES.get(compiled);
  if (share?.unitsPerToken !== gateways) {
    share = { compiled: gateways === 1 ? compiled : shareOf(compiled, gateways), unitsPerToken: gateways };
    SHARES.set(compiled, share);
  }
  return share;
}

/** Rules are as many as are in use, and the number of gateways seldom changes. */
const SHARES = new WeakMap<CompiledRule, RuleShare>();

/** Whether a request costs more than its whole limit allows at once, not just more than a share of it. */
export function costsTooMuch(compiled: CompiledRule, descriptor: Descriptor): boolean {
  const cost = costOf(compiled, descriptor)!;
  return compiled.buckets.limits.some((bucket) => neededFor(bucket, cost) > bucket.capacity);
}

function shareOf(compiled: CompiledRule, gateways: number): CompiledRule {
  const { rule, buckets, withheldPercent } = compiled;
  const limits = buckets.limits.map(({ timeZone }, i) => bucketOf(inUnits(rule.limits[i]!, gateways), timeZone));
  const shared = { ...rule, limits: rule.limits.map((limit) => shown(limit, gateways)) };
  return {
    ...compiled,
    unitsPerToken: gateways,
    rule: shared,
    // A penalty gives nothing out, so there is nothing to share: it blocks after as many refusals as it says.
    buckets: bucketsWithholding({ limits, penalty: buckets.penalty }, shared, withheldPercent, gateways),
    takes: undefined,
  };
}

/** Whole tokens that can be taken at once, of a limit that lets any pass at least one. */
function shareOfTokens(tokens: number, gateways: number): number {
  return tokens === 0 ? 0 : Math.max(1, Math.floor(tokens / gateways));
}

function inUnits(limit: Limit, gateways: number): Limit {
  // Which numbers hold, the gateway has decided: its own clock is no better than itself.
  const { inForce: _inForce, ...always } = limit;
  return { ...numbersInUnits(always, gateways), previous: limit.previous.map((past) => numbersInUnits(past, gateways)) };
}

function numbersInUnits<L extends Limit | PastLimit>(numbers: L, gateways: number): L {
  const most = shareOfTokens(capacityOf(numbers), gateways) * gateways;
  const shared = withoutSmallExcess(withCapacity(numbers, most), capacityOf(numbers), gateways);
  return { ...shared, since: startInUnits(numbers.since, totalOf(numbers), totalOf(shared)) };
}

/** Where there is no whole token to share, there is no excess to share either. */
function withoutSmallExcess<L extends Limit | PastLimit>(numbers: L, whole: number, gateways: number): L {
  return numbers.throttle === 'soft' && whole < gateways ? { ...numbers, throttle: 'hard' } : numbers;
}

function withCapacity<L extends LimitNumbers>(numbers: L, most: number): L {
  return 'capacity' in numbers ? { ...numbers, capacity: most } : { ...numbers, limit: most };
}

function totalOf(numbers: LimitNumbers): number {
  return capacityOf(numbers) + excessOf(numbers);
}

/** A limit that started full, or above that, does so here; of one that did not, each gateway has its share. */
function startInUnits(since: LimitStart, before: number, after: number): LimitStart {
  if (since.tokens >= before) return { ...since, tokens: since.tokens - before + after };
  return since.tokens < after ? since : { atMs: since.atMs, tokens: after };
}

/** The limit of a share in whole tokens. */
function shown(limit: Limit, gateways: number): Limit {
  const shared = withoutSmallExcess(withCapacity(limit, shareOfTokens(capacityOf(limit), gateways)), capacityOf(limit), gateways);
  return { ...shared, ...limitAlgorithm(shared).slowedDown?.(shared, gateways) } as Limit;
}
