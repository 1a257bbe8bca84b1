import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Descriptor, MemoryBucketStore, type MerchantRules, merchantRules, RateLimiter, type Rule, type Verdict } from '#limiter';
import type { SampleRow } from './sample.js';

/** The rules of a merchant, enabled or not. */
export interface RuleSet {
  readonly merchantId: string;
  readonly timeZone: string;
  readonly own: readonly Rule[];
  /** Undefined: it has no plan. */
  readonly plan: readonly Rule[] | undefined;
  readonly defaults: readonly Rule[];
}

export interface RefusalsOfRule {
  readonly ruleId: string;
  refusedNow: number;
  refusedThen: number;
}

/** Requests that are alike: of one method and path, from one address. */
export interface RefusalsOfRequests {
  readonly method: string;
  readonly path: string;
  readonly ip: string | null;
  requests: number;
  refusedNow: number;
  refusedThen: number;
}

/** A stretch of time, from `at` on for the length of a step. */
export interface RefusalsAt {
  readonly at: string;
  requests: number;
  refusedNow: number;
  refusedThen: number;
}

export interface ReplayResult {
  readonly requests: number;
  readonly refusedNow: number;
  readonly refusedThen: number;
  /** Refusals by rules in the mode shadow: they refuse nothing. */
  readonly shadowNow: number;
  readonly shadowThen: number;
  readonly byRule: readonly RefusalsOfRule[];
  readonly mostAffected: readonly RefusalsOfRequests[];
  readonly stepMs: number;
  readonly series: readonly RefusalsAt[];
  /** Whether the time was up before the sample was. */
  readonly truncated: boolean;
}

/** How long other requests wait for this one, in milliseconds. */
const SLICE_MS = 4;
/** Reading a clock costs about as much as a decision. */
const ROWS_PER_LOOK = 16;
const MAX_STEPS = 240;
const MAX_AFFECTED = 20;
/** More than any sample has keys, unless each of its requests asks a dozen buckets of its own. */
const MAX_BUCKETS = 1_000_000;
const MAX_COSTS = 1_000;

/**
 * Sends the requests of a sample, in virtual time, by two sets of rules, each with the limiter and the buckets that gateways have; all buckets start full. A request
 * is over as soon as it is decided, so limits of concurrency refuse nothing here, and elastic limits find no spare capacity. Other work of the process has its turn in
 * between: after each slice the number of requests that were replayed is yielded.
 * @param endAtMs by `nowMs`: then it ends, and says what it has found so far
 */
export async function* replay(
  rows: readonly SampleRow[],
  rules: { readonly now: RuleSet; readonly then: RuleSet },
  { nowMs = () => performance.now(), endAtMs = Infinity }: { nowMs?: () => number; endAtMs?: number } = {},
): AsyncGenerator<number, ReplayResult> {
  const tally = new Tally(rows);
  const sides = { now: new Side(rules.now), then: new Side(rules.then) };
  let sliceEndMs = nowMs() + SLICE_MS;
  for (const [i, row] of rows.entries()) {
    if (i > 0 && i % ROWS_PER_LOOK === 0) {
      const atMs = nowMs();
      if (atMs >= endAtMs) return tally.result(true);
      if (atMs >= sliceEndMs) {
        yield i;
        await nextTurn();
        sliceEndMs = nowMs() + SLICE_MS;
      }
    }
    tally.add(row, sides.now.decide(row), sides.then.decide(row));
  }
  return tally.result(false);
}

/** One set of rules with its buckets. */
class Side {
  private readonly byCost = new Map<number | undefined, MerchantRules>();
  private readonly limiter: RateLimiter;
  private nowMs = 0;

  constructor(private readonly rules: RuleSet) {
    const store = new MemoryBucketStore(() => this.nowMs, MAX_BUCKETS);
    this.limiter = new RateLimiter(store, store, { nowMs: () => this.nowMs });
  }

  decide({ atMs, method, path, ip = '', cost, descriptor: known = { ip, method, target: path } }: SampleRow): Verdict {
    this.nowMs = atMs;
    const descriptor: Descriptor = { ...known, merchantId: this.rules.merchantId };
    let verdict: Verdict | undefined;
    // The store answers at once.
    this.limiter.check(this.costing(cost), descriptor, (outcome) => {
      if (outcome instanceof Error) throw outcome;
      verdict = outcome;
    });
    for (const reservation of verdict!.reservations) reservation.release();
    return verdict!;
  }

  /** The rules, at a cost that a request brings along; the buckets are the same whatever it costs. */
  private costing(cost: number | undefined): MerchantRules {
    let compiled = this.byCost.get(cost);
    if (compiled === undefined) {
      if (this.byCost.size >= MAX_COSTS) this.byCost.clear();
      const { merchantId, timeZone, own, plan, defaults } = this.rules;
      const costing = (rules: readonly Rule[]) => (cost === undefined ? rules : rules.map((rule) => ({ ...rule, cost })));
      this.byCost.set(
        cost,
        (compiled = merchantRules(merchantId, costing(own), costing(defaults), { timeZone, plan: plan && costing(plan) })),
      );
    }
    return compiled;
  }
}

/** What was refused so far. */
class Tally {
  private readonly counts = { requests: 0, refusedNow: 0, refusedThen: 0, shadowNow: 0, shadowThen: 0 };
  private readonly byRule = new Map<string, RefusalsOfRule>();
  private readonly groups = new Map<string, RefusalsOfRequests>();
  private readonly series: RefusalsAt[] = [];
  private readonly startMs: number;
  private readonly stepMs: number;

  constructor(rows: readonly SampleRow[]) {
    this.startMs = rows[0]!.atMs;
    const spanMs = rows.at(-1)!.atMs - this.startMs;
    this.stepMs = Math.max(1, Math.ceil(spanMs / MAX_STEPS / 1000)) * 1000;
  }

  add(row: SampleRow, now: Verdict, then: Verdict): void {
    const counted = [this.counts, this.groupOf(row), this.stepAt(row.atMs)];
    for (const each of counted) {
      each.requests++;
      if (!now.allowed) each.refusedNow++;
      if (!then.allowed) each.refusedThen++;
    }
    this.counts.shadowNow += now.shadowRefusals;
    this.counts.shadowThen += then.shadowRefusals;
    for (const ruleId of refusing(now)) this.ruleOf(ruleId).refusedNow++;
    for (const ruleId of refusing(then)) this.ruleOf(ruleId).refusedThen++;
  }

  result(truncated: boolean): ReplayResult {
    const affected = [...this.groups.values()].filter(({ refusedNow, refusedThen }) => refusedNow !== refusedThen);
    const change = ({ refusedNow, refusedThen }: RefusalsOfRequests) => Math.abs(refusedThen - refusedNow);
    return {
      ...this.counts,
      byRule: [...this.byRule.values()].sort((a, b) => b.refusedThen - a.refusedThen || b.refusedNow - a.refusedNow),
      mostAffected: affected.sort((a, b) => change(b) - change(a)).slice(0, MAX_AFFECTED),
      stepMs: this.stepMs,
      series: this.series,
      truncated,
    };
  }

  private ruleOf(ruleId: string): RefusalsOfRule {
    let rule = this.byRule.get(ruleId);
    if (rule === undefined) this.byRule.set(ruleId, (rule = { ruleId, refusedNow: 0, refusedThen: 0 }));
    return rule;
  }

  private groupOf(row: SampleRow): RefusalsOfRequests {
    const { method, path } = row;
    const ip = row.ip ?? null;
    const name = JSON.stringify([method, path, ip]);
    let group = this.groups.get(name);
    if (group === undefined) this.groups.set(name, (group = { method, path, ip, requests: 0, refusedNow: 0, refusedThen: 0 }));
    return group;
  }

  /** Steps without a request are there too, so that a chart shows silence as silence. */
  private stepAt(atMs: number): RefusalsAt {
    const index = Math.floor((atMs - this.startMs) / this.stepMs);
    while (this.series.length <= index) {
      const at = new Date(this.startMs + this.series.length * this.stepMs).toISOString();
      this.series.push({ at, requests: 0, refusedNow: 0, refusedThen: 0 });
    }
    return this.series[index]!;
  }
}

/** The rules that refuse a request: those with a limit that has too little, or those with a penalty if it is one that blocks. */
function refusing({ allowed, limits }: Verdict): Iterable<string> {
  if (allowed) return NO_RULES;
  const short = limits.filter(({ decision }) => !decision.allowed);
  return new Set((short.length > 0 ? short : limits).map(({ ruleId }) => ruleId));
}

const NO_RULES: readonly string[] = [];
