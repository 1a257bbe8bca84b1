import type { ShadowReport } from '#limiter';
import { counterBy } from '#metrics';
import type { Registry } from 'prom-client';

const OUTCOMES = ['passed', 'near_limit', 'refused', 'shadow_refused'] as const;
const [PASSED, NEAR_LIMIT, REFUSED, SHADOW_REFUSED] = [0, 1, 2, 3];

/** What single rules decide: those that an operator asks for, because there is no bound to how many rules there are. */
export class WatchedRules {
  private readonly rules: ReadonlyMap<string, Float64Array>;

  constructor(registry: Registry, ruleIds: readonly string[]) {
    this.rules = new Map(ruleIds.map((id) => [id, new Float64Array(OUTCOMES.length)]));
    counterBy(
      registry,
      'tollgate_rule_requests_total',
      'What became of requests under the rules of METRIC_RULES.',
      ['rule', 'outcome'],
      () => [...this.rules].flatMap(([id, counts]) => OUTCOMES.map((outcome, i) => [[id, outcome], counts[i]!] as const)),
    );
  }

  /** @param near whether a request that passed left little of a limit */
  count(ruleId: string, allowed: boolean, refuses: boolean, near: boolean): void {
    const counts = this.rules.get(ruleId);
    if (counts === undefined) return;
    if (allowed) counts[PASSED]! += 1;
    else if (refuses) counts[REFUSED]! += 1;
    if (allowed && near) counts[NEAR_LIMIT]! += 1;
  }

  countShadow(shadow: readonly ShadowReport[]): void {
    for (const { ruleId, refused } of shadow) {
      const counts = this.rules.get(ruleId);
      if (counts !== undefined && refused) counts[SHADOW_REFUSED]! += 1;
    }
  }
}
