import { type Descriptor, type MerchantRules, merchantRules, type Rule, startLimits } from '#limiter';

/** Requests to paths below this one pass in a rehearsal. */
export const REHEARSED_PATH = '/rehearsal';
/** Requests to paths below this one are refused in a rehearsal. */
export const REFUSED_IN_REHEARSAL = `${REHEARSED_PATH}/refused`;

/** A merchant that is not there. */
export const NOBODY = 'rehearsal-1';
const MERCHANTS = [NOBODY, 'rehearsal-2', 'rehearsal-3'];
/** Merchants that are not there, asked for at once: by two connections of the rule source. */
export const NOBODIES = MERCHANTS.slice(0, 2);

/** Rules that neither take nor leave anything in Redis, even if merchants have these names: what passes costs nothing, the rest is refused. */
const RULES: readonly MerchantRules[] = MERCHANTS.map((merchantId) =>
  merchantRules(
    merchantId,
    [
      rehearsal({ id: '1', priority: 2, path: `${REFUSED_IN_REHEARSAL}/**`, cost: 1, capacity: 0 }),
      rehearsal({ id: '2', priority: 1, path: `${REHEARSED_PATH}/**`, cost: 0, capacity: 1 }),
    ],
    [],
  ),
);

/** A rule of the rehearsal, with one token bucket. */
export function rehearsal({
  id,
  priority,
  path,
  cost,
  capacity,
  onStoreFailure = 'open',
}: Pick<Rule, 'id' | 'priority' | 'cost'> & Partial<Pick<Rule, 'onStoreFailure'>> & { path: string; capacity: number }): Rule {
  return {
    id,
    name: 'rehearsal',
    layer: 'merchant',
    priority,
    enabled: true,
    mode: 'enforce',
    match: { methods: ['POST'], paths: [path] },
    key: ['merchant'],
    cost,
    onStoreFailure,
    limits: startLimits(
      [{ name: 'rehearsal', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
      0,
    ),
  };
}

let turns = 0;

/** The rules of one of the merchants of the rehearsal, in turn. */
export const rehearsedRules = (): MerchantRules => RULES[turns++ % RULES.length]!;

/** A request to decide about. Another target each time: the one of the last request is remembered, and the search for a rule is to be compiled too. */
export function rehearsed(): { rules: MerchantRules; descriptor: Descriptor } {
  const rules = rehearsedRules();
  const { merchantId } = rules;
  return { rules, descriptor: { merchantId, ip: '127.0.0.1', method: 'POST', target: `${REHEARSED_PATH}/${turns}` } };
}
