import { LAYERS, RULE_ORIGINS, type Layer, type LimitReport, type RuleOrigin, usableOf, type Verdict } from '#limiter';
import { counter, counterBy } from '#metrics';
import type { Registry } from 'prom-client';
import { WatchedRules } from './watched-rules.js';

/** Of a limit that has this part of its tokens left, or less, the next request may be refused. */
const NEAR_LIMIT = 0.1;

/** Where a decision came from, by its place in what is counted of a reason. */
const SOURCES: Readonly<Record<Verdict['source'], number>> = { store: 0, memory: 1, lease: 2, optimistic: 3, local: 4, none: 5 };
const SOURCE_NAMES = Object.keys(SOURCES);

const LAYER_INDEX = Object.fromEntries(LAYERS.map((layer, i) => [layer, i])) as Record<Layer, number>;
const ORIGIN_INDEX = Object.fromEntries(RULE_ORIGINS.map((origin, i) => [origin, i])) as Record<RuleOrigin, number>;

/** What a chosen rule said: that the request may pass; the reason of the refusal, if it is its own; or that another rule has refused. */
const SAID = ['allowed', 'rerouted', 'over_limit', 'blocked', 'cost_exceeds_capacity', 'store_unavailable', 'other_rule'] as const;
const OTHER_RULE = SAID.length - 1;

/** What was decided and why. Counts in plain numbers, and hands them to Prometheus when it asks. */
export class DecisionMetrics {
  private readonly reasons = new Map<string, Float64Array>();
  private readonly byLayer = new Float64Array(LAYERS.length * RULE_ORIGINS.length * SAID.length);
  private readonly near = new Float64Array(LAYERS.length);
  private readonly watched: WatchedRules | undefined;
  private local = 0;
  private remembered = 0;
  private shadow = 0;
  private overLimit = 0;
  private delayed = 0;
  private spareUsed = 0;
  private blocks = 0;
  private unknownRoutes = 0;
  private retried = 0;
  private allowed = 0;
  private refused = 0;

  /** @param ruleIds of rules that are counted each by itself */
  constructor(registry: Registry, ruleIds: readonly string[] = []) {
    const watched = new WatchedRules(registry, ruleIds);
    if (ruleIds.length > 0) this.watched = watched;
    this.register(registry);
  }

  count(verdict: Verdict): void {
    this.countReason(verdict.reason, verdict.source);
    if (verdict.source === 'local') this.local++;
    else if (verdict.source === 'memory') this.remembered++;
    this.shadow += verdict.shadowRefusals;
    if (verdict.waitMs > 0) this.delayed++;
    if (verdict.usedSpare) this.spareUsed++;
    if (verdict.beganBlock) this.blocks++;
    if (verdict.retried) this.retried++;
    if (verdict.allowed) this.allowed++;
    else this.refused++;
    if (verdict.limits.length > 0) this.countRules(verdict);
    this.watched?.countShadow(verdict.shadow);
  }

  countReason(reason: string, source: Verdict['source'] = 'none'): void {
    let bySource = this.reasons.get(reason);
    if (bySource === undefined) this.reasons.set(reason, (bySource = new Float64Array(SOURCE_NAMES.length)));
    bySource[SOURCES[source]]! += 1;
  }

  /** A request was refused because the route is unknown to which its rule sends it. */
  countUnknownRoute(): void {
    this.unknownRoutes++;
  }

  /** Passed and refused since the last call. */
  takeSummary(): { allowed: number; refused: number } {
    const { allowed, refused } = this;
    this.allowed = 0;
    this.refused = 0;
    return { allowed, refused };
  }

  /** The limits of a rule stand side by side. */
  private countRules(verdict: Verdict): void {
    const { allowed, limits } = verdict;
    // A penalty refuses where no limit does.
    const byPenalty = !allowed && limits.every(passes);
    let overLimit = false;
    for (let i = 0; i < limits.length;) {
      const { ruleId, rule, origin } = limits[i]!;
      let refuses = byPenalty && !!rule.penalty;
      let near = false;
      for (; i < limits.length && limits[i]!.ruleId === ruleId; i++) {
        const { decision } = limits[i]!;
        if (!decision.allowed) refuses = true;
        if (decision.remaining <= NEAR_LIMIT * usableOf(decision)) near = true;
        if (decision.overLimit) overLimit = true;
      }
      const layer = LAYER_INDEX[rule.layer];
      const said = allowed || refuses ? SAID.indexOf(verdict.reason as (typeof SAID)[number]) : OTHER_RULE;
      this.byLayer[(layer * RULE_ORIGINS.length + ORIGIN_INDEX[origin]) * SAID.length + said]! += 1;
      if (near && verdict.reason === 'allowed') this.near[layer]! += 1;
      this.watched?.count(ruleId, allowed, refuses, near && verdict.reason === 'allowed');
    }
    if (overLimit) this.overLimit++;
  }

  private *decisions(): Iterable<readonly [string[], number]> {
    for (const [reason, bySource] of this.reasons) {
      for (const [i, source] of SOURCE_NAMES.entries()) if (bySource[i]! > 0) yield [[reason, source], bySource[i]!];
    }
  }

  private *layers(): Iterable<readonly [string[], number]> {
    let i = 0;
    for (const layer of LAYERS) {
      for (const origin of RULE_ORIGINS) {
        for (const reason of SAID) {
          const count = this.byLayer[i++]!;
          if (count > 0) yield [[layer, origin, reason], count];
        }
      }
    }
  }

  private register(registry: Registry): void {
    const nearLimit = () => LAYERS.map((layer, i) => [[layer], this.near[i]!] as const);
    counterBy(
      registry,
      'tollgate_decisions_total',
      'Requests by the reason of their decision, and by who decided.',
      ['reason', 'source'],
      () => this.decisions(),
    );
    counterBy(
      registry,
      'tollgate_layer_decisions_total',
      'What the chosen rules of requests said, by layer, by whose rules they are, and by reason.',
      ['layer', 'origin', 'reason'],
      () => this.layers(),
    );
    counterBy(registry, 'tollgate_near_limit_total', 'Requests that left a limit a tenth of its tokens or less.', ['layer'], nearLimit);
    const counters: readonly (readonly [name: string, help: string, read: () => number])[] = [
      ['tollgate_local_decisions_total', 'Decisions made in this process while the store was away.', () => this.local],
      [
        'tollgate_remembered_refusals_total',
        'Refusals without asking the store, which has refused the same a moment ago.',
        () => this.remembered,
      ],
      ['tollgate_shadow_refusals_total', 'Times a shadow rule would have refused.', () => this.shadow],
      ['tollgate_over_limit_total', 'Requests that passed above a soft or an elastic limit.', () => this.overLimit],
      ['tollgate_delayed_total', 'Requests that waited their turn in a leaky bucket.', () => this.delayed],
      ['tollgate_spare_capacity_used_total', 'Requests that passed above an elastic limit.', () => this.spareUsed],
      ['tollgate_unknown_routes_total', 'Refusals because a rule reroutes to a route that there is not.', () => this.unknownRoutes],
      ['tollgate_uncharged_retries_total', 'Retries of requests that were charged, which were not charged again.', () => this.retried],
      ['tollgate_blocks_total', 'Blocks that began: penalties for keys that were refused too often.', () => this.blocks],
    ];
    for (const [name, help, read] of counters) counter(registry, name, help, read);
  }
}

function passes({ decision }: LimitReport): boolean {
  return decision.allowed;
}
