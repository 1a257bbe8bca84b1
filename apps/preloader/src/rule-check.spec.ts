import { type Rule, startLimits } from '#limiter';
import { assertUsable } from './rule-check.js';

const LIMITS = startLimits(
  [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000, refill: 'greedy' }],
  0,
);

const RULE: Rule = {
  id: '7',
  name: 'card payments',
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: ['POST'], paths: ['/transactions/**'] },
  key: ['merchant'],
  limits: LIMITS,
  cost: 1,
  onStoreFailure: 'local',
};

test('rules as the Rules API writes them are usable', () => {
  expect(() => assertUsable([RULE])).not.toThrow();
});

test.each<[string, object]>([
  ['limits that are no list', { limits: { not: 'a list' } }],
  ['no limits', { limits: [] }],
  ['a limit without numbers', { limits: [{}] }],
  ['a limit that is null', { limits: [null] }],
  ['an impossible number', { limits: [{ ...LIMITS[0], capacity: -1 }] }],
  ['a limit without its id', { limits: [{ ...LIMITS[0], id: undefined }] }],
  ['a limit without its history', { limits: [{ ...LIMITS[0], previous: undefined }] }],
  ['a limit without its start', { limits: [{ ...LIMITS[0], since: undefined }] }],
  ['no match', { match: null }],
  ['methods that are no list', { match: { methods: 'POST', paths: [] } }],
  ['a path pattern that is no text', { match: { methods: [], paths: [7] } }],
  ['a path pattern that is none', { match: { methods: [], paths: ['transactions'] } }],
  ['no key', { key: null }],
])('%s', (_, change) => {
  expect(() => assertUsable([{ ...RULE, ...change } as Rule])).toThrow();
});
