/** Rules for tests: one that lacks nothing, in the forms in which it is written, sent and stored. A test names what matters to it. */
import { startLimits, type Rule, type RuleSpec, type TokenBucketSpec } from '#limiter';
import { burst } from '#limiter/testing';

/** A rule as an administrator writes it, complete. */
export function ruleSpec(changes: Partial<RuleSpec> = {}): RuleSpec {
  return {
    name: 'card payments',
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: ['POST'], paths: ['/transactions/**'] },
    key: ['merchant'],
    limits: [burst()],
    cost: 1,
    onStoreFailure: 'local',
    ...changes,
  };
}

/** The body of a request that creates a rule: only what the Rules API demands. */
export function ruleBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'card payments',
    limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 }],
    ...changes,
  };
}

type Numbers = Partial<Pick<TokenBucketSpec, 'capacity' | 'refillTokens' | 'refillIntervalMs'>>;

/** A rule as a snapshot carries it, for every request, with one limit that started a minute ago: ten at once and five a second, unless told otherwise. */
export function rule({ capacity = 10, refillTokens = 5, refillIntervalMs = 1_000, ...changes }: Partial<Rule> & Numbers = {}): Rule {
  return {
    ...ruleSpec({ match: { methods: [], paths: [] }, onStoreFailure: 'closed' }),
    id: '1',
    limits: startLimits([burst({ capacity, refillTokens, refillIntervalMs })], Date.now() - 60_000),
    ...changes,
  };
}
