import type { Condition } from '../conditions/condition.js';
import { shown } from '../fields/shown.js';
import type { RuleSpec } from '../rules/rule.js';
import type { RuleWarning } from './rule-warning.js';

/** A rule that counts a client of IPv6 apart for each of its addresses, which the client chooses among 2^64. */
export function keyWarnings({ key, match }: RuleSpec): RuleWarning[] {
  const at = key.indexOf('ip');
  if (at === -1 || (match.all ?? []).some(isOfIpv4)) return [];
  const detail = `counts each address apart, and a client of IPv6 has a whole /64 of them: write "ip.prefix", which is the same for IPv4; got ${shown('ip')}`;
  return [{ code: 'rule.key.whole_address', pointer: `/key/${at}`, detail }];
}

/** Whether only addresses of IPv4 fulfil a condition. */
function isOfIpv4(condition: Condition): boolean {
  return 'field' in condition && condition.field === 'ip' && condition.inRanges?.every((range) => !range.includes(':')) === true;
}
