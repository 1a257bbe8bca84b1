import { startLimits, type Rule } from '#limiter';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

/** However many ids come that nobody created, a gateway with a small heap lives, and its merchants notice nothing. */

let house: House;

/** What once took 130 KB for each merchant. */
const DEFAULT_RULES: Rule[] = Array.from({ length: 20 }, (_, i) =>
  rule({
    id: String(100 + i),
    name: `default ${i}`,
    layer: (['platform', 'network', 'merchant', 'user'] as const)[i % 4]!,
    priority: 1 + i,
    onStoreFailure: 'open',
    limits: startLimits(
      Array.from({ length: 4 }, (__, limit) => ({
        name: `limit ${limit}`,
        algorithm: 'token_bucket' as const,
        capacity: 1000 + limit,
        refillTokens: 100,
        refillIntervalMs: 1000,
        refill: 'greedy' as const,
      })),
      Date.now() - 60_000,
    ),
  }),
);

beforeAll(async () => {
  house = await House.open();
  await house.snapshots.writeDefaultRules({ version: 1, rules: DEFAULT_RULES });
  for (const id of ['known', 'new'])
    await house.write(id, [rule({ capacity: 1_000_000, refillTokens: 1000, priority: 1000, onStoreFailure: 'open' })]);
});

afterAll(() => house.close());

const small = { NODE_OPTIONS: '--max-old-space-size=128', STORE_TIMEOUT_MS: '5000' };

/** How often each status was answered. */
type Counts = Record<number, number>;

interface Flood {
  strangers: Counts;
  known: Counts;
  /** Every Retry-After that came with a 503. */
  retryAfter: Set<unknown>;
  seconds: number;
}

/** Sends requests of ids that nobody created, and among them those of a known merchant. */
async function flood(gateway: RunningApp, ids: number): Promise<Flood> {
  const strangers: Counts = {};
  const known: Counts = {};
  const retryAfter = new Set<unknown>();
  const startedMs = performance.now();
  let next = 0;
  const connection = async (): Promise<void> => {
    while (next < ids) {
      const i = next++;
      const { status, headers } = await house.send(gateway, `nobody-${i}-${gateway.pid}`);
      strangers[status] = (strangers[status] ?? 0) + 1;
      if (status === 503) retryAfter.add(headers['retry-after']);
      if (i % 50 > 0) continue;
      const answer = await house.send(gateway, 'known');
      known[answer.status] = (known[answer.status] ?? 0) + 1;
      if (answer.status === 200) expect(String(answer.headers['ratelimit-policy'])).toContain('q=1000000');
      house.received.length = 0;
    }
  };
  await Promise.all(Array.from({ length: 48 }, connection));
  return { strangers, known, retryAfter, seconds: (performance.now() - startedMs) / 1000 };
}

test.each([
  ['deny', 2_000],
  ['default', 2_000],
])(
  'under %s, %i ids: look-ups are bounded, the rest gets 503 with Retry-After, a known merchant is always answered',
  async (policyOfUnknown, ids) => {
    const gateway = await house.gateway({ ...small, UNKNOWN_MERCHANT: policyOfUnknown });
    expect((await house.send(gateway, 'known')).status).toBe(200);
    const { strangers, known, retryAfter, seconds } = await flood(gateway, ids);
    const { 503: refused = 0, ...lookedUp } = strangers;
    const answered = Object.values(lookedUp).reduce((sum, count) => sum + count, 0);
    expect(Object.keys(lookedUp)).toEqual([policyOfUnknown === 'deny' ? '403' : '200']);
    const refusedFor = (reason: string) => house.metric(gateway, new RegExp(`^tollgate_decisions_total\\{reason="${reason}"`));
    // All come from one address: fifteen a second, and as many at once.
    // On a busy machine a look-up may take too long, which is 503 as well.
    const tooLate = await refusedFor('rules_unavailable');
    expect(answered + tooLate).toBeGreaterThanOrEqual(15);
    expect(answered).toBeLessThanOrEqual(15 * seconds + 15 + 1);
    expect(refused).toBe(ids - answered);
    expect(known).toEqual({ 200: ids / 50 });
    // Judged by what the flood itself was told: by now the allowance may have grown again.
    expect([...retryAfter]).toEqual(['1']);
    // Redis knows it, so it needs no allowance.
    expect((await house.send(gateway, 'new')).status).toBe(200);
    // The allowance of others is untouched.
    const other = await house.send(gateway, 'nobody else', { headers: { 'x-forwarded-for': '192.0.2.7' } });
    expect(other.status).toBe(policyOfUnknown === 'deny' ? 403 : 200);
    expect((await refusedFor('too_many_unknown')) + tooLate).toBeGreaterThanOrEqual(refused);
    await gateway.kill();
  },
);

test('3,500 ids that are all looked up and get the default rules fit into a small heap beside the merchants', async () => {
  const gateway = await house.gateway({
    ...small,
    UNKNOWN_MERCHANT: 'default',
    UNKNOWN_LOOKUPS_PER_SECOND: '100000',
    UNKNOWN_LOOKUPS_PER_PEER: '100000',
  });
  expect((await house.send(gateway, 'known')).status).toBe(200);
  const { strangers, known } = await flood(gateway, 3_500);
  expect(known).toEqual({ 200: 70 });
  expect(strangers[200]).toBeGreaterThan(3_000);
  await until(async () => expect(await house.metric(gateway, /^tollgate_cached_unknown_merchants/)).toBeLessThan(1_500));
  expect(await house.metric(gateway, /^tollgate_cached_merchants/)).toBe(1);
  // A quarter of the heap for the merchants, and an eighth of that besides.
  expect(await house.metric(gateway, /^tollgate_rule_cache_bytes/)).toBeLessThan(50 * 2 ** 20);
});
