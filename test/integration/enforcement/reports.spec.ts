import { Enforcer } from '#enforcement';
import { startLimits, type MerchantSnapshot, type Rule } from '#limiter';
import { RedisReceiptStore, RedisTopKeyStore, RedisUsageStore } from '#limiter-redis';
import { Registry } from 'prom-client';
import { rule } from '../../support/factories/rules.js';
import { PATIENCE } from '../../support/patience.mjs';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';

const { server, redis } = await redisForFile();

const RULE: Rule = rule({
  limits: startLimits([{ name: 'a day', algorithm: 'fixed_window', limit: 2, windowMs: 86_400_000, start: 'clock' }], 0),
});
const BY_ADDRESS: Rule = rule({
  id: '99',
  layer: 'network',
  key: ['ip'],
  limits: startLimits([{ name: 'a day', algorithm: 'fixed_window', limit: 1000, windowMs: 86_400_000, start: 'clock' }], 0),
});
const ACME: MerchantSnapshot = { merchantId: 'acme', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [RULE, BY_ADDRESS] };

/** An enforcer that tells Redis nothing of its own accord before it is closed. */
async function opened() {
  const registry = new Registry();
  const enforcer = new Enforcer({
    redisUrl: server.url,
    ruleSource: {
      connect: () => Promise.resolve(),
      snapshot: (merchantId) => Promise.resolve(merchantId === 'acme' ? ACME : null),
      defaultRules: () => Promise.resolve({ version: 1, rules: [] }),
      plan: () => Promise.resolve(null),
      close: () => Promise.resolve(),
    },
    logger: { info: () => {}, warn: () => {} },
    registry,
    storeTimeoutMs: 2000,
    usageFlushMs: 60_000,
  });
  await enforcer.open();
  const check = (merchantId: string, requestId: string) =>
    new Promise<boolean>((resolve) =>
      enforcer.check({ merchantId, ip: '192.0.2.7', method: 'GET', target: '/' }, ({ allowed }) => resolve(allowed), requestId),
    );
  return { enforcer, registry, check };
}

test('an enforcer that is closed has told Redis what it counted and noted', async () => {
  const { enforcer, check } = await opened();
  const allowed = [await check('acme', 'r1'), await check('acme', 'r2'), await check('acme', 'r3'), await check('nobody', 'r4')];
  expect(allowed).toEqual([true, true, false, false]);
  await enforcer.close();
  const usage = new RedisUsageStore(redis);
  const nowMs = await usage.nowMs();
  const found = (await usage.read(['acme', 'nobody'], nowMs - 3_600_000, nowMs + 1)) as Map<string, { passed: number; refused: number }[]>;
  expect(found.get('acme')!.map(({ passed, refused }) => [passed, refused])).toEqual([
    [2, 1],
    [2, 0],
  ]);
  expect(found.get('nobody')).toEqual([]);
  const { keys, overestimatedBy } = await new RedisTopKeyStore(redis).ranked('requests', nowMs - 3_600_000, nowMs + 1, null);
  expect([keys, overestimatedBy]).toEqual([
    [{ merchantId: 'acme', ruleId: '99', key: { ip: expect.stringMatching(/^hmac:/) as unknown }, count: 3 }],
    0,
  ]);
  const receipts = new RedisReceiptStore(redis);
  expect((await receipts.find('r3', null))?.reason).toBe('over_limit');
  expect((await receipts.find('r4', null))?.reason).toBe('unknown_merchant');
  expect(await receipts.find('r1', null)).toBeUndefined();
});

test('while Redis is frozen it is closed in time all the same, and a failed flush is counted', async () => {
  const { enforcer, registry, check } = await opened();
  await check('acme', 'r5');
  server.freeze();
  try {
    const startedMs = performance.now();
    await enforcer.close();
    expect(performance.now() - startedMs).toBeLessThan(5_000 + 2_000 * PATIENCE);
  } finally {
    server.thaw();
  }
  await until(async () => expect(await registry.getSingleMetricAsString('tollgate_report_failures_total')).toMatch(/what="usage"\} [1-9]/));
});
