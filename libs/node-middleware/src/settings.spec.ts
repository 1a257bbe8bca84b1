import type { CodeRule } from './code-rules.js';
import type { RouteOptions, TollgateOptions } from './options.js';
import { OptionsError } from './options-error.js';
import { routeSettingsOf, settingsOf } from './settings.js';

const REDIS = { redisUrl: 'redis://:secret@127.0.0.1:6379' };

function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof OptionsError) return error.message;
    throw error;
  }
  return 'none';
}

test('nothing but Redis has to be named', () => {
  expect(settingsOf(REDIS)).toMatchObject({
    storedRules: true,
    unknownMerchant: 'deny',
    trustedProxies: ['127.0.0.1/32', '::1/128'],
    storeTimeoutMs: 25,
    leaseHorizonMs: 1000,
    leaseCacheMb: 64,
    maxWaiting: 1_000,
    graceMs: 10_000,
    exceptions: [],
    rules: [],
    requests: {},
  });
});

test.each<[string, object, string]>([
  ['no Redis', {}, 'redisUrl must be a URL like redis://127.0.0.1:6379'],
  ['a password in a URL that is none', { redisUrl: 'http://:hunter2@x' }, 'redisUrl must be a URL like redis://127.0.0.1:6379'],
  ['an unknown option', { ...REDIS, trustedProxy: [] }, 'trustedProxy is not a field that is known here; did you mean "trustedProxies"?'],
  [
    'a horizon of leases beyond what Redis lends for',
    { ...REDIS, leaseHorizonMs: 10_001 },
    'leaseHorizonMs must be a whole number from 100 to 10000',
  ],
  ['a number beyond its bounds', { ...REDIS, storeTimeoutMs: 4 }, 'storeTimeoutMs must be a whole number from 5 to 10000'],
  [
    'a window for retries that is too short',
    { ...REDIS, idempotencyWindowMs: 999 },
    'idempotencyWindowMs must be 0, or a whole number of milliseconds',
  ],
  ['a range that is none', { ...REDIS, trustedProxies: ['10.0.0.0/8', 'here'] }, 'trustedProxies[1] must be an address or a CIDR range'],
  ['a merchant that is no id', { ...REDIS, merchant: '' }, 'merchant must be a function of the request, or the id of a merchant'],
  ['a cost below nothing', { ...REDIS, cost: -1 }, 'cost must be a function of the request, or a whole number'],
  ['a user that is told once for all', { ...REDIS, user: 'me' }, 'user must be a function of the request'],
  ['a logger that cannot warn', { ...REDIS, logger: { info: () => {} } }, 'logger must have the functions info and warn'],
  [
    'a database without rules',
    { ...REDIS, storedRules: false, databaseUrl: 'postgres://a@b/c' },
    'databaseUrl goes with storedRules: true only',
  ],
  [
    'unknown merchants where there are none',
    { ...REDIS, storedRules: false, unknownMerchant: 'deny' },
    'unknownMerchant goes with storedRules: true only',
  ],
  ['an exception that is none', { ...REDIS, pathPolicyExceptions: '/objects' }, 'pathPolicyExceptions must be exceptions like'],
])('%s is named in one message', (_what, options, message) => {
  const fault = faultOf(() => settingsOf(options as TollgateOptions));
  expect(fault).toContain(`the options of tollgate are wrong: ${message}`);
  expect(fault).not.toContain('hunter2');
});

test('every wrong option is named', () => {
  const fault = faultOf(() => settingsOf({ ...REDIS, graceMs: -1, maxWaiting: 0.5 } as TollgateOptions));
  expect(fault).toMatch(/maxWaiting must be .*; graceMs must be /);
});

describe('rules in code', () => {
  const made = (rule: CodeRule) => settingsOf({ ...REDIS, rules: [rule] }).rules[0]!;
  const LOGIN = { name: 'login', limit: 5, windowMs: 60_000 };

  test('a limit and its window are a sliding counter of the layer of the platform', () => {
    expect(made(LOGIN)).toMatchObject({
      name: 'login',
      layer: 'platform',
      priority: 100,
      enabled: true,
      key: ['merchant'],
      onStoreFailure: 'local',
      limits: [
        {
          name: 'window',
          algorithm: 'sliding_counter',
          limit: 5,
          windowMs: 60_000,
          parts: 8,
          generation: 0,
          since: { atMs: 0, tokens: 5 },
        },
      ],
    });
  });

  test('the id is the same wherever the rule is the same, another one with other numbers, and never one of a stored rule', () => {
    expect(made(LOGIN).id).toBe(made({ ...LOGIN, priority: 7 }).id);
    const others = [
      { ...LOGIN, limit: 6 },
      { ...LOGIN, name: 'log in' },
      { ...LOGIN, key: ['ip'] },
      { ...LOGIN, penalty: { refusals: 3, windowMs: 1_000, blockMs: 1_000 } },
    ];
    expect(new Set([LOGIN, ...others].map((rule) => made(rule).id)).size).toBe(5);
    for (const rule of others) {
      expect(Number(made(rule).id)).toBeGreaterThanOrEqual(2 ** 52);
      expect(Number.isSafeInteger(Number(made(rule).id))).toBe(true);
    }
  });

  test.each<[string, unknown, string]>([
    ['a misspelt field', { name: 'a', limit: 1, windowMsec: 1 }, 'rules[0].windowMs'],
    ['a limit without a window', { name: 'a', limit: 1 }, 'rules[0].windowMs must be'],
    ['a window without a name', { limit: 1, windowMs: 1_000 }, 'rules[0].name'],
    ['both forms at once', { ...LOGIN, limits: [] }, 'rules[0].limit is not a field that is known here'],
    [
      'a number of a limit',
      { name: 'a', limits: [{ name: 'b', algorithm: 'token_bucket', capacity: -1, refillTokens: 1, refillIntervalMs: 1 }] },
      'rules[0].limits[0].capacity must be',
    ],
    ['a path of another router', { ...LOGIN, match: { paths: ['/users/:id'] } }, 'rules[0].match.paths[0]'],
    ['no object', 'login', 'rules[0] must be an object'],
  ])('%s is named by its place', (_what, rule, place) => {
    expect(faultOf(() => settingsOf({ ...REDIS, rules: [rule as CodeRule] }))).toContain(place);
  });
});

describe('options of a route', () => {
  const of = (options: RouteOptions, usual?: string) => routeSettingsOf(options, 'express()', usual);

  test('a rule of a route is for it alone, and goes before those of the whole service', () => {
    const [rule] = of({ limit: 5, windowMs: 60_000, key: ['ip'] }, 'Users.login').rules;
    expect(rule).toMatchObject({
      name: 'Users.login',
      key: ['ip'],
      priority: 200,
      match: { all: [{ field: 'header.x-tollgate-route', equals: 'Users.login' }] },
    });
  });

  test('rules of a route keep the conditions that they have', () => {
    const rules = [
      { name: 'web', limit: 1, windowMs: 1_000, match: { methods: ['POST'], all: [{ field: 'header.x-channel', equals: 'web' }] } },
    ];
    expect(of({ route: 'pay', rules }).rules[0]).toMatchObject({
      name: 'web',
      match: {
        methods: ['POST'],
        all: [
          { field: 'header.x-tollgate-route', equals: 'pay' },
          { field: 'header.x-channel', equals: 'web' },
        ],
      },
    });
  });

  test.each<[string, RouteOptions, string]>([
    ['a limit of no route', { limit: 1, windowMs: 1 }, 'express().route must be given where there are rules'],
    ['a key of no limit', { route: 'a', key: ['ip'] }, 'express().key goes with limit and windowMs'],
    ['a limit that is none', { route: 'a', limit: 0.5, windowMs: 1_000 }, 'express().limit must be'],
    ['a name that no header could have', { route: 'ä' }, 'express().route must be 1 to 128 visible ASCII characters'],
    ['what is said for all only', { redisUrl: 'redis://x' } as RouteOptions, 'express().redisUrl is not a field that is known here'],
  ])('%s is named', (_what, options, message) => {
    expect(faultOf(() => of(options))).toContain(message);
  });
});
