import { consistencyWarnings } from './consistency-warnings.js';
import { capacityOf, type LimitSpec } from '../limits/limit.js';
import { reserveOf } from '../rules/reserve.js';
import type { RuleSpec } from '../rules/rule.js';
import { shown } from '../fields/shown.js';
import { withheldOf } from '../matching/withheld.js';
import { looksLikeExpression } from '../writing/foreign-path-syntax.js';
import { keyWarnings } from './key-warnings.js';
import type { RuleWarning } from './rule-warning.js';
import { isUnreachable } from './unreachable-limits.js';
import { whenWarnings } from './when-warnings.js';

/** What is probably a mistake in a rule by itself; see shadowing.ts for its place among others. */
export function ruleWarnings(spec: RuleSpec, nowMs: number): RuleWarning[] {
  return [
    ...pathWarnings(spec),
    ...keyWarnings(spec),
    ...whenWarnings(spec, nowMs),
    ...refillWarnings(spec),
    ...unreachableWarnings(spec),
    ...reserveWarnings(spec),
    ...consistencyWarnings(spec),
  ];
}

function pathWarnings({ match, reserve }: RuleSpec): RuleWarning[] {
  const lists = [{ paths: match.paths, at: '/match' }, ...(reserve ?? []).map(({ paths = [] }, i) => ({ paths, at: `/reserve/${i}` }))];
  return lists.flatMap(({ paths, at }) =>
    paths.flatMap((path, i) => {
      if (!looksLikeExpression(path)) return [];
      const detail = `looks like a regular expression, but is a path pattern, in which only * and ** have a meaning; got ${shown(path)}`;
      return [{ code: 'rule.match.paths.looks_like_expression', pointer: `${at}/paths/${i}`, detail }];
    }),
  );
}

function reserveWarnings({ reserve, limits, penalty }: RuleSpec): RuleWarning[] {
  const kept = reserveOf(reserve);
  if (kept === undefined) return [];
  const empty = limits.flatMap((limit, i): RuleWarning[] => {
    if (capacityOf(limit) === 0 || withheldOf(limit, kept.percent) > 0) return [];
    const detail = `the limit ${shown(limit.name)} lets one request pass at once, so that nothing of it is kept for the routes in reserve`;
    return [{ code: 'limit.reserve.nothing', pointer: `/limits/${i}`, detail }];
  });
  if (!penalty) return empty;
  const detail = `blocks the routes in reserve, too, after ${penalty.refusals} refusals of any requests with the same key`;
  return [...empty, { code: 'rule.penalty.blocks_reserve', pointer: '/penalty', detail }];
}

/** Not of the cell rate algorithm and the leaky bucket: there a small burst beside a rate is how one writes them. */
function refillWarnings({ limits }: RuleSpec): RuleWarning[] {
  return limits.flatMap((limit, i) => {
    if (limit.algorithm !== 'token_bucket' || limit.capacity === 0 || limit.capacity >= limit.refillTokens) return [];
    const what = limit.refill === 'interval' ? 'the rest of each refill is lost' : 'only a client that sends evenly gets all of a refill';
    const detail = `is less than the ${limit.refillTokens} tokens of an interval: ${what}; got ${limit.capacity}`;
    return [{ code: 'limit.capacity.below_refill', pointer: `/limits/${i}/capacity`, detail }];
  });
}

function unreachableWarnings({ limits }: RuleSpec): RuleWarning[] {
  return limits.flatMap((limit, i) => {
    // Of two that are equal, the later one is too many.
    const stricter = limits.find((other, j) => j !== i && isUnreachable(limit, other) && !(j > i && isUnreachable(other, limit)));
    return stricter === undefined ? [] : [unreachable(limit, stricter, i)];
  });
}

function unreachable(limit: LimitSpec, stricter: LimitSpec, i: number): RuleWarning {
  const detail = `the limit ${shown(limit.name)} of ${capacityOf(limit)} makes no difference: the limit ${shown(stricter.name)} of ${capacityOf(stricter)} always refuses first`;
  return { code: 'limit.unreachable', pointer: `/limits/${i}`, detail };
}
