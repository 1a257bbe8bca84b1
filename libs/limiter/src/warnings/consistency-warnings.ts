import { bucketOf } from '../buckets/bucket.js';
import { hindrance } from '../leasing/lendable-rule.js';
import { canBeLent } from '../buckets/lend.js';
import { startLimits } from '../limits/limit-edit.js';
import type { RuleSpec } from '../rules/rule.js';
import { shown } from '../fields/shown.js';
import type { RuleWarning } from './rule-warning.js';

/** A rule that is leased or optimistic in vain. */
export function consistencyWarnings(spec: RuleSpec): RuleWarning[] {
  const { consistency = 'exact', onStoreFailure } = spec;
  const hindered = consistency === 'exact' ? [] : hindrances(spec).map((each) => exactInstead(each, consistency));
  const lendsNothing = onStoreFailure === 'leased' && (consistency !== 'leased' || hindered.length > 0);
  return lendsNothing ? [...hindered, NOTHING_LENT] : hindered;
}

interface Hindrance {
  readonly pointer: string;
  readonly what: string;
}

function hindrances(spec: RuleSpec): Hindrance[] {
  const part = hindrance(spec);
  const limits = spec.limits.flatMap((limit, i): Hindrance[] =>
    startLimits([limit], 0).every((started) => canBeLent(bucketOf(started)))
      ? []
      : [{ pointer: `/limits/${i}`, what: `the limit ${shown(limit.name)}` }],
  );
  return part === undefined ? limits : [...limits, { pointer: `/${part}`, what: part === 'penalty' ? 'the penalty' : 'what is reserved' }];
}

function exactInstead({ pointer, what }: Hindrance, consistency: string): RuleWarning {
  const detail = `needs Redis for each request, so the rule is enforced exactly and not ${consistency}: ${what} cannot be decided about without it`;
  return { code: 'rule.consistency.exact', pointer, detail };
}

const NOTHING_LENT: RuleWarning = {
  code: 'rule.on_store_failure.nothing_lent',
  pointer: '/onStoreFailure',
  detail: 'refuses every request while Redis is away, because the rule is not leased and no gateway is lent anything',
};
