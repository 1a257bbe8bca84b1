/** A rule is legal, and this is probably a mistake. */
export interface RuleWarning {
  /** Stable, for programs. */
  readonly code: WarningCode;
  /** JSON pointer into the rule. */
  readonly pointer: string;
  /** For people. */
  readonly detail: string;
}

/** What each warning means, for the page that explains them. */
export const RULE_WARNINGS = {
  'rule.shadowed': 'Another rule of the layer is asked first and matches every request that this one matches, so this one is never chosen.',
  'rule.shadows':
    'This rule is asked first and matches every request that another rule of the same owner matches, so the other one is never chosen.',
  'rule.match.repeated':
    'Another rule of the same owner has the same layer, priority and match, so only the older of the two is ever chosen.',
  'rule.match.paths.looks_like_expression':
    'A path looks like a regular expression. It is a path pattern, in which a dot is a dot: .* concerns names that begin with a dot.',
  'rule.key.whole_address':
    'Buckets are told apart by whole addresses. A client of IPv6 has a /64 of them as a rule and may use another one for each request; ip.prefix counts them as one, and IPv4 addresses as ip does.',
  'rule.valid_to.past': 'The rule ended before it was written, so it never applies.',
  'rule.valid_to.before_start': 'The rule ends before it begins, so it never applies.',
  'rule.schedule.never':
    'The schedule has no moment in it, or none of its windows is open while the rule is valid, so the rule never applies.',
  'limit.capacity.below_refill':
    'An interval brings more tokens than the bucket holds, so a part of them is never of use to a client that sends in bursts.',
  'limit.capacity.unused':
    'Gateways have counted requests under the rule in each hour of the last day, and no client used a tenth of the burst at once. Said of rules of merchants whose numbers are known without a gap.',
  'limit.unreachable': 'Another limit of the rule refuses before this one ever does, so this one makes no difference.',
  'limit.reserve.nothing': 'The limit lets a single request pass at once, so nothing of it can be kept for the routes in reserve.',
  'rule.penalty.blocks_reserve':
    'The penalty of the rule blocks all that is behind a bucket key, the routes in reserve as well, and refusals of any others can bring it about.',
  'rule.consistency.exact':
    'The rule is to be leased or optimistic, and something of it cannot be decided about without Redis: a limit, a penalty, or reserved shares. Redis decides about each request, as for exact rules.',
  'rule.on_store_failure.nothing_lent':
    'While Redis is away the rule lets pass what gateways have been lent, and as it is not leased, none is ever lent anything. It is enforced as closed.',
} as const;
export type WarningCode = keyof typeof RULE_WARNINGS;
