import { request as get } from 'undici';
import { ADMIN_TOKEN, startApp, type RunningApp } from '../../support/processes.js';
import { freshRedisCluster } from '../../support/redis-cluster.js';
import { freshSentinelGroup } from '../../support/redis-sentinel.js';
import { freshRedis } from '../../support/services.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';

/** The whole path, from a rule to a refusal and what is told of it, with Redis as platforms run it. */

interface Stores {
  readonly env: Record<string, string>;
  stop(): Promise<unknown>;
}

const SETUPS: readonly (readonly [string, () => Promise<Stores>])[] = [
  [
    'a cluster for everything',
    async () => {
      const cluster = await freshRedisCluster();
      return { env: { REDIS_URL: cluster.url, BUCKETS_REDIS_URL: cluster.url }, stop: () => cluster.stop() };
    },
  ],
  [
    'buckets in a cluster, snapshots in a Sentinel group, and a queue of its own',
    async () => {
      const [cluster, group, queue] = await Promise.all([freshRedisCluster(), freshSentinelGroup(), freshRedis()]);
      return {
        env: { REDIS_URL: cluster.url, BUCKETS_REDIS_URL: cluster.url, SNAPSHOT_REDIS_URL: group.url, QUEUE_REDIS_URL: queue.url },
        stop: () => Promise.all([cluster, group, queue].map((each) => each.stop())),
      };
    },
  ],
];

describe.each(SETUPS)('%s', (_name, start) => {
  let house: House;
  let stores: Stores;
  let apps: RunningApp[];
  let gateway: RunningApp;

  beforeAll(async () => {
    [house, stores] = await Promise.all([House.open(), start()]);
    const env = { DATABASE_URL: house.database.url, ...stores.env };
    apps = [await startApp('rules-api', env), await startApp('preloader', env)];
    gateway = await house.gateway({ ...stores.env, STORE_TIMEOUT_MS: '5000', USAGE_FLUSH_MS: '1000' });
  });
  afterAll(async () => {
    await Promise.all((apps ?? []).map((app) => app.kill()));
    await house?.close();
    await stores?.stop();
  });

  async function call(method: 'GET' | 'POST' | 'PUT', path: string, body?: object, etag?: string) {
    const response = await get(apps[0]!.url + path, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(etag && { 'if-match': etag }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: response.statusCode,
      etag: String(response.headers['etag']),
      body: (await response.body.json().catch(() => undefined)) as Record<string, unknown>,
    };
  }

  const limit = (capacity: number) => ({ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 600_000 });
  const policy = async () => (await house.send(gateway, 'acme')).headers['ratelimit-policy'];

  test('a rule is enforced, an edit is felt within two seconds, and operators see buckets, usage and receipts', async () => {
    await call('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
    const created = await call('POST', '/v1/merchants/acme/rules', { name: 'all', limits: [limit(3)] });
    expect(created.status).toBe(201);
    await until('the rule is enforced', async () => expect(await policy()).toBe('"burst";q=3;w=1800'), 20_000);
    const refusedId = await until('it refuses', async () => {
      const { status, headers } = await house.send(gateway, 'acme');
      return status === 429 && String(headers['x-request-id']);
    });
    const ruleId = String(created.body['id']);
    const rulePath = `/v1/merchants/acme/rules/${ruleId}`;
    const edited = await call('PUT', rulePath, { name: 'all', limits: [limit(50)] }, created.etag);
    expect(edited.status).toBe(200);
    await until('the edit is felt', async () => expect(await policy()).toBe('"burst";q=50;w=30000'), 2000);

    const buckets = await call('GET', `/v1/merchants/acme/buckets?ruleId=${ruleId}`);
    expect([buckets.status, JSON.stringify(buckets.body)]).toEqual([200, expect.stringContaining('"remaining":0')]);
    const reset = await call('POST', '/v1/merchants/acme/buckets/reset', { ruleId, reason: 'a test' });
    expect(reset.status).toBe(200);
    await until('the gateway hears of it', async () => (await house.send(gateway, 'acme')).status === 200, 2000);
    const refused = await until('usage is told', async () => {
      const { body } = await call('GET', '/v1/usage/top');
      return JSON.stringify(body).includes('acme') && body;
    });
    expect(JSON.stringify(refused)).toContain(ruleId);
    const receipt = async () => (await call('GET', `/v1/decisions/${refusedId}`)).body;
    await until('the receipt is there', async () => expect(await receipt()).toMatchObject({ merchantId: 'acme', allowed: false }));
  });

  test('all apps are ready, and the walk through all merchants has ended', async () => {
    for (const app of [...apps, gateway]) {
      const ready = await get(`${app.managementUrl}/readyz`);
      expect([app.name, ready.statusCode, await ready.body.text()]).toEqual([app.name, 200, expect.not.stringContaining('"down"')]);
    }
    await apps[1]!.waitForLog(({ msg }) => msg === 'full preload done');
  });
});
