/** What Envoy's rate limit filter and ext_authz filter ask, by a client that was made from the published messages; the limits came from a configuration of envoyproxy/ratelimit. */
import { type Client, Metadata } from '@grpc/grpc-js';
import { parse } from 'yaml';
import { completed, RULE_FIELDS, startLimits, type Rule, type RuleSpec } from '#limiter';
import { rulesOfRatelimit } from '../../../apps/cli/src/import/envoy/rules-of-ratelimit.js';
import { clientOf, serviceOf, unary } from '../../support/grpc-client.js';
import { type Doors, MemoryEnforcer, openDoors, TOKEN } from './doors.js';

/** The domains of the integration tests of envoyproxy/ratelimit, and what they are about. */
const CONFIGURATIONS = [
  `domain: basic
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: one_per_minute, rate_limit: { unit: minute, requests_per_unit: 1 } }`,
  `domain: another
descriptors:
  - { key: key2, rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key3, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: key4, rate_limit: { unit: day, requests_per_unit: 20 } }
  - { key: banned, rate_limit: { unit: year, requests_per_unit: 0 } }
  - { key: week, rate_limit: { name: weekly, unit: week, requests_per_unit: 7 } }
  - { key: month, rate_limit: { unit: month, requests_per_unit: 5000 } }
  - { key: two, rate_limit: { unit: minute, unit_multiplier: 2, requests_per_unit: 5 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: dark, rate_limit: { unit: minute, requests_per_unit: 1 }, shadow_mode: true }
  - key: outer
    value: a
    descriptors:
      - { key: inner, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: merchant, rate_limit: { unit: minute, requests_per_unit: 2 } }
  - { key: path, rate_limit: { unit: minute, requests_per_unit: 2 } }`,
];

const enforcer = new MemoryEnforcer();
let doors: Doors;
let client: Client;
const rateLimits = serviceOf('envoy/service/ratelimit/v3/rls.proto', 'envoy.service.ratelimit.v3.RateLimitService');
const authorization = serviceOf('envoy/service/auth/v3/external_auth.proto', 'envoy.service.auth.v3.Authorization');
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${TOKEN}`);

let lastId = 0;
function ruleOf(written: object): Rule {
  const spec = completed({ ...written }, RULE_FIELDS) as unknown as RuleSpec;
  return { ...spec, id: String(++lastId), limits: startLimits(spec.limits, 0) };
}

beforeAll(async () => {
  for (const yaml of CONFIGURATIONS) {
    const translation = rulesOfRatelimit(parse(yaml, { schema: 'failsafe' }));
    if ('faults' in translation) throw new Error(JSON.stringify(translation.faults));
    for (const { id, rules } of translation.document.merchants) enforcer.rules.set(id, rules.map(ruleOf));
    enforcer.defaults = [...enforcer.defaults, ...(translation.document.defaultRules ?? []).map(ruleOf)];
  }
  enforcer.rules.set('known', []);
  const limits = [{ name: 'a day', algorithm: 'fixed_window', limit: 2, windowMs: 86_400_000 }];
  enforcer.rules.set('acme', [ruleOf({ name: 'payments', match: { methods: ['POST'], paths: ['/pay'] }, limits })]);
  enforcer.rules.set('bucket', [
    ruleOf({ name: 'b', limits: [{ name: 'b', algorithm: 'token_bucket', capacity: 9, refillTokens: 1, refillIntervalMs: 500 }] }),
  ]);
  doors = await openDoors(enforcer);
  client = clientOf(doors.port);
});

afterAll(async () => {
  client.close();
  await doors.doors.close(1_000);
  expect(doors.errors).toEqual([]);
});

type Entries = Readonly<Record<string, string>>;
interface Asked {
  readonly domain?: string;
  readonly hitsAddend?: number;
}

const descriptorOf = (entries: Entries, more: object = {}) => ({
  entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
  ...more,
});
const ask = (domain: string, descriptors: readonly object[], more: object = {}) =>
  unary(client, rateLimits, 'ShouldRateLimit', { domain, descriptors, ...more }, metadata);

/** The codes, limits and what remains, as the tests of envoyproxy/ratelimit compare them: `OVER_LIMIT: OK 20 MINUTE 4, OVER_LIMIT 10 HOUR 0`. */
async function answer(descriptors: readonly Entries[], { domain = 'another', hitsAddend }: Asked = {}): Promise<string> {
  const { overallCode, statuses } = await ask(
    domain,
    descriptors.map((each) => descriptorOf(each)),
    { hitsAddend },
  );
  const shown = statuses.map(
    ({
      code,
      currentLimit,
      limitRemaining = 0,
    }: {
      code: string;
      currentLimit?: { requestsPerUnit?: number; unit: string };
      limitRemaining?: number;
    }) =>
      currentLimit
        ? `${code} ${currentLimit.requestsPerUnit ?? 0} ${currentLimit.unit ?? 'UNKNOWN'} ${limitRemaining}`
        : `${code} no limit ${limitRemaining}`,
  );
  return `${overallCode}: ${shown.join(', ')}`;
}

async function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i++) made.push(await make());
  return made;
}

describe('ShouldRateLimit answers as envoyproxy/ratelimit', () => {
  it.each<[string, Entries[], Asked, string]>([
    ['a domain that nobody knows', [{ hello: 'world' }], { domain: 'foo' }, 'OK: OK no limit 0'],
    ['a key that nobody knows', [{ hello: 'world' }], {}, 'OK: OK no limit 0'],
    ['a limit of a second', [{ key1: 'foo' }], { domain: 'basic' }, 'OK: OK 50 SECOND 49'],
    ['a limit of a day', [{ key4: 'foo' }], {}, 'OK: OK 20 DAY 19'],
    ['a limit of a week', [{ week: 'foo' }], {}, 'OK: OK 7 WEEK 6'],
    ['a limit of a month', [{ month: 'foo' }], {}, 'OK: OK 5000 MONTH 4999'],
    ['a limit of several units', [{ two: 'foo' }], {}, 'OK: OK 5 UNKNOWN 4'],
    ['nothing allowed', [{ banned: 'foo' }], {}, 'OVER_LIMIT: OVER_LIMIT 0 YEAR 0'],
    ['no limit on purpose', [{ free: 'foo' }], {}, 'OK: OK no limit 0'],
    ['a nested limit', [{ outer: 'a', inner: 'x' }], {}, 'OK: OK 3 MINUTE 2'],
    ['a nested limit under another value', [{ outer: 'b', inner: 'x' }], {}, 'OK: OK no limit 0'],
    ['half of a nested limit', [{ outer: 'a' }], {}, 'OK: OK no limit 0'],
    ['several hits', [{ key2: 'several' }], { hitsAddend: 5 }, 'OK: OK 20 MINUTE 15'],
    ['more hits than the limit has', [{ key2: 'many' }], { hitsAddend: 21 }, 'OVER_LIMIT: OVER_LIMIT 20 MINUTE 20'],
    ['a limit with no unit of Envoy', [{ x: 'y' }], { domain: 'bucket' }, 'OK: OK 9 UNKNOWN 8'],
  ])('%s: %j %j', async (_, descriptors, asked, expected) => {
    expect(await answer(descriptors, asked)).toBe(expected);
  });

  it('until the limit is reached, and the last hit before it', async () => {
    const answers = await times(25, () => answer([{ key2: 'until' }]));
    expect(answers.slice(17, 22)).toEqual([
      'OK: OK 20 MINUTE 2',
      'OK: OK 20 MINUTE 1',
      'OK: OK 20 MINUTE 0',
      'OVER_LIMIT: OVER_LIMIT 20 MINUTE 0',
      'OVER_LIMIT: OVER_LIMIT 20 MINUTE 0',
    ]);
  });

  it('for two descriptors of one call; what is refused is charged to neither', async () => {
    const both = [{ key2: 'both' }, { key3: 'both' }];
    const answers = await times(12, () => answer(both));
    expect(answers.slice(9)).toEqual([
      'OK: OK 20 MINUTE 10, OK 10 HOUR 0',
      'OVER_LIMIT: OK 20 MINUTE 10, OVER_LIMIT 10 HOUR 0',
      'OVER_LIMIT: OK 20 MINUTE 10, OVER_LIMIT 10 HOUR 0',
    ]);
    expect(await answer([{ key2: 'both' }])).toBe('OK: OK 20 MINUTE 9');
  });

  it('in shadow mode whatever was asked before', async () => {
    expect(await times(3, () => answer([{ dark: 'x' }]))).toEqual(Array(3).fill('OK: OK no limit 0'));
  });

  it('for the hits of a descriptor instead of those of the call, also none', async () => {
    const hits = (value: number) => ask('another', [descriptorOf({ key2: 'own' }, { hitsAddend: { value } })], { hitsAddend: 9 });
    expect((await hits(3)).statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 17 });
    expect((await hits(0)).statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 17 });
  });

  it('when its turn in a queue has come', async () => {
    const smooth = { name: 's', algorithm: 'leaky_bucket', capacity: 2, drainTokens: 1, drainIntervalMs: 150 };
    enforcer.rules.set('queue', [ruleOf({ name: 'q', limits: [{ ...smooth, onLimit: { delay: { maxWaitMs: 1_000 } } }] })]);
    expect(await answer([{ x: 'y' }], { domain: 'queue' })).toMatch(/^OK/);
    const startMs = performance.now();
    expect(await answer([{ x: 'y' }], { domain: 'queue' })).toMatch(/^OK/);
    expect(performance.now() - startMs).toBeGreaterThan(140);
  });

  it('with the time until the window ends, the headers of the gateway, and a problem as the body of what is refused', async () => {
    const call = () => ask('basic', [descriptorOf({ one_per_minute: 'headers' })]);
    const passed = await call();
    expect(passed.statuses[0].durationUntilReset).toEqual({ seconds: 59, nanos: 0 });
    expect(passed.responseHeadersToAdd).toContainEqual({ key: 'RateLimit', value: '"minute";r=0;t=59' });
    const refused = await call();
    expect(refused.responseHeadersToAdd).toContainEqual({ key: 'Retry-After', value: '59' });
    expect(refused.responseHeadersToAdd).toContainEqual({ key: 'Content-Type', value: 'application/problem+json' });
    expect(JSON.parse((refused.rawBody as Buffer).toString())).toMatchObject({ status: 429, code: 'quota.exceeded' });
  });
});

describe('what a client can bring about', () => {
  it('is refused, and no error that Envoy might let pass: a merchant that does not exist, a path that servers read in different ways, a value that is too long', async () => {
    expect(await answer([{ merchant: 'nobody' }])).toBe('OVER_LIMIT: OVER_LIMIT no limit 0');
    expect(await answer([{ merchant: '' }])).toBe('OVER_LIMIT: OVER_LIMIT no limit 0');
    expect(await answer([{ path: '/a/../b' }])).toBe('OVER_LIMIT: OVER_LIMIT no limit 0');
    expect(await answer([{ path: `/${'a'.repeat(8_192)}` }])).toBe('OVER_LIMIT: OVER_LIMIT no limit 0');
    expect(await answer([{ any: 'v'.repeat(60_000) }])).toBe('OVER_LIMIT: OVER_LIMIT no limit 0');
    expect(await answer([{ key2: 'beside' }, { path: '/a//b' }])).toBe('OVER_LIMIT: OK 20 MINUTE 20, OVER_LIMIT no limit 0');
  });

  it('is limited by the rules of the merchant that it is, as at the gateway', async () => {
    const pay = [{ merchant: 'acme', method: 'POST', path: '/pay?x=1' }];
    expect(await times(3, () => answer(pay))).toEqual(['OK: OK 2 DAY 1', 'OK: OK 2 DAY 0', 'OVER_LIMIT: OVER_LIMIT 2 DAY 0']);
    expect(await answer([{ merchant: 'acme', method: 'GET', path: '/pay' }])).toBe('OK: OK no limit 0');
    expect(await times(3, () => answer([{ merchant: 'known' }]))).toEqual([
      'OK: OK 2 MINUTE 1',
      'OK: OK 2 MINUTE 0',
      'OVER_LIMIT: OVER_LIMIT 2 MINUTE 0',
    ]);
  });
});

/** One more than there may be. */
const OWN_LIMITS = Array.from({ length: 51 }, (_, i) => ({ requestsPerUnit: i, unit: 'HOUR' }));

describe('a call that cannot be answered', () => {
  const entries = descriptorOf({ k: 'v' });
  it.each<[string, string, object[], object, number, string]>([
    ['without a domain', '', [entries], {}, 3, '/domain must be given'],
    ['without descriptors', 'another', [], {}, 3, '/descriptors must have 1 to 64 items'],
    ['with too many descriptors', 'another', Array.from({ length: 65 }, () => entries), {}, 3, '/descriptors must have 1 to 64 items'],
    ['with an empty descriptor', 'another', [{ entries: [] }], {}, 3, '/descriptors/0/entries must have 1 to 32 items'],
    ['with an empty key', 'another', [descriptorOf({ '': 'v' })], {}, 3, 'keys that are not empty'],
    ['with a long key', 'another', [descriptorOf({ ['k'.repeat(8_193)]: 'v' })], {}, 3, 'keys of at most 8192 characters'],
    ['with too many hits', 'another', [entries], { hitsAddend: 4_000_000_000 }, 3, 'from 0 to 1000000000'],
    [
      'with a limit without a unit',
      'another',
      [{ ...entries, limit: { requestsPerUnit: 5 } }],
      {},
      3,
      '/descriptors/0/limit/unit must be a unit',
    ],
    ['with too many different limits', 'another', OWN_LIMITS.map((limit) => ({ ...entries, limit })), {}, 8, 'write rules for them'],
    ['while the rules cannot be read', 'unreadable', [entries], {}, 14, 'cannot be read'],
  ])('%s ends with a status', async (_, domain, descriptors, more, code, words) => {
    expect(await ask(domain, descriptors, more)).toMatchObject({ code, details: expect.stringContaining(words) as string });
  });
});

describe('ext_authz', () => {
  const asked = (changes: object = {}, attributes: object = {}) =>
    unary(
      client,
      authorization,
      'Check',
      {
        attributes: {
          source: { address: { socketAddress: { address: '198.51.100.7', portValue: 4711 } } },
          request: { http: { method: 'POST', path: '/pay', host: 'api.example', headers: { 'x-merchant-id': 'authorized' }, ...changes } },
          ...attributes,
        },
      },
      metadata,
    );

  it('passes, and is answered as a gateway refuses, with the headers of limits', async () => {
    const limits = [{ name: 'a day', algorithm: 'fixed_window', limit: 1, windowMs: 86_400_000 }];
    enforcer.rules.set('authorized', [ruleOf({ name: 'r', key: ['merchant', 'user', 'ip'], limits })]);
    const passed = await asked();
    expect(passed).toMatchObject({ status: {}, httpResponse: 'okResponse' });
    expect(passed.okResponse.responseHeadersToAdd[1]).toMatchObject({ header: { key: 'RateLimit', value: '"a day";r=0;t=86399' } });
    const refused = await asked();
    expect(refused).toMatchObject({ status: { code: 8 }, httpResponse: 'deniedResponse', deniedResponse: { status: { code: 429 } } });
    expect(JSON.parse(refused.deniedResponse.body)).toMatchObject({ code: 'quota.exceeded' });
    expect((await asked({}, { contextExtensions: { user: 'ann' } })).httpResponse).toBe('okResponse');
  });

  it('believes the configuration of the route before headers, and hides what other doors say', async () => {
    const limits = [{ name: 'a day', algorithm: 'fixed_window', limit: 1, windowMs: 86_400_000 }];
    const all = [{ field: 'header.x-tollgate-descriptor', absent: true }];
    enforcer.rules.set('of-the-route', [ruleOf({ name: 'r', match: { all }, limits })]);
    const headers = { 'x-merchant-id': 'nobody', 'x-tollgate-descriptor': 'of-the-route/k?v' };
    const of = () => asked({ headers }, { contextExtensions: { merchant: 'of-the-route' } });
    expect([(await of()).httpResponse, (await of()).httpResponse]).toEqual(['okResponse', 'deniedResponse']);
  });

  it.each<[string, object, number, string]>([
    ['nobody is named', { headers: {} }, 401, 'identity.missing'],
    ['the merchant does not exist', { headers: { 'x-merchant-id': 'nobody' } }, 403, 'merchant.unknown'],
    ['the path is read in different ways', { path: '/a/%2e%2e/b' }, 400, 'path'],
    ['the method is none', { method: 'p' }, 400, 'ext_authz.malformed'],
  ])('denies where %s, with the answer of a gateway', async (_, changes, status, code) => {
    const { deniedResponse } = await asked(changes);
    expect(deniedResponse.status.code).toBe(status);
    expect(JSON.parse(deniedResponse.body).code).toContain(code);
  });
});
