/** A small house for tests of the gateway: its stores, an upstream, and rules that a test writes as the preloader would. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MerchantSnapshot, Rule, RuleSpec } from '#limiter';
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { createDataSource, MerchantRepository, RuleReader, RuleRepository } from '#rules-db';
import type { Redis } from 'ioredis';
import { Pool } from 'undici';
import { BY, merchant } from '../../support/factories/merchants.js';
import { startApp, type RunningApp, type StartOptions } from '../../support/processes.js';
import { freshDatabase, freshRedis, type TestDatabase, type TestRedis } from '../../support/services.js';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  ms: number;
}

/** More than a kernel keeps for a client that does not read; what the upstream answers for /large. */
const LARGE = Buffer.alloc(16 * 1024 * 1024);

export class House {
  private readonly gateways: RunningApp[] = [];
  private readonly pools = new Map<string, Pool>();
  private readonly versions = new Map<string, number>();

  private constructor(
    readonly redisServer: TestRedis,
    readonly database: TestDatabase,
    readonly redis: Redis,
    readonly upstream: Server,
    /** Requests that reached the upstream. */
    readonly received: IncomingMessage[],
    /** Answers that the upstream holds back, of requests for /hold: call one to send it. */
    readonly held: (() => void)[],
  ) {}

  /** @param ownRedis instead of one without anything special; it ends with the house */
  static async open(ownRedis?: TestRedis): Promise<House> {
    const [redisServer, database] = await Promise.all([ownRedis ?? freshRedis(), freshDatabase({ migrated: true })]);
    const redis = createRedis(redisServer.url, 'subscriber') as Redis;
    const received: IncomingMessage[] = [];
    const held: (() => void)[] = [];
    const upstream = createServer((request, response) => {
      received.push(request);
      const answer = () => response.setHeader('content-type', 'application/json').end('{"ok":true}');
      const large = () => response.end(LARGE);
      request
        .resume()
        .on('end', () => (request.url?.startsWith('/hold') ? held.push(answer) : request.url?.startsWith('/large') ? large() : answer()));
    });
    // On a busy machine its timers may fire before it reads what has come: it leaves it to the gateway to close an idle connection.
    upstream.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    return new House(redisServer, database, redis, upstream, received, held);
  }

  get snapshots(): RedisSnapshotStore {
    return new RedisSnapshotStore(this.redis);
  }

  async gateway(env: Record<string, string> = {}, options: StartOptions = {}): Promise<RunningApp> {
    const { port } = this.upstream.address() as AddressInfo;
    const stores = { REDIS_URL: this.redisServer.url, DATABASE_URL: this.database.url, UPSTREAM_URL: `http://127.0.0.1:${port}` };
    const app = await startApp('gateway', { ...stores, ...env }, options);
    this.gateways.push(app);
    return app;
  }

  /** A decision API on the same stores. It ends with the house. */
  async decisionApi(env: Record<string, string> = {}): Promise<RunningApp> {
    const app = await startApp('decision-api', { REDIS_URL: this.redisServer.url, DATABASE_URL: this.database.url, ...env });
    this.gateways.push(app);
    return app;
  }

  /** Writes a merchant's rules to Redis in the next version and tells the gateways. */
  async write(merchantId: string, rules: readonly Rule[], { exists = true, announce = true } = {}): Promise<MerchantSnapshot> {
    const version = (this.versions.get(merchantId) ?? 0) + 1;
    this.versions.set(merchantId, version);
    const snapshot = { merchantId, version, exists, timeZone: 'Etc/UTC', rules };
    await this.snapshots.write([snapshot], 3_600_000);
    if (announce) await this.snapshots.announce([merchantId]);
    return snapshot;
  }

  /**
   * Leaves new merchants as the Rules API and the preloader do: in PostgreSQL, and as snapshots in Redis. Where Redis goes away this is what
   * gateways read then; merchants of `write` do not exist for them there.
   */
  async store(merchants: Readonly<Record<string, readonly RuleSpec[]>>): Promise<void> {
    const dataSource = await createDataSource(this.database.url).initialize();
    try {
      const [repository, rules, reader] = [new MerchantRepository(dataSource), new RuleRepository(dataSource), new RuleReader(dataSource)];
      const snapshots: MerchantSnapshot[] = [];
      for (const [id, specs] of Object.entries(merchants)) {
        await repository.create(merchant(id), BY);
        for (const spec of specs) await rules.create(id, spec, BY);
        snapshots.push((await reader.snapshot(id))!);
      }
      await this.snapshots.write(snapshots, 3_600_000);
      await this.snapshots.writeDefaultRules(await reader.defaultRules());
      await this.snapshots.announce(Object.keys(merchants));
    } finally {
      await dataSource.destroy();
    }
  }

  async send(
    gateway: RunningApp,
    merchantId: string | undefined,
    { method = 'GET', path = '/transactions', headers = {}, body = undefined as string | undefined } = {},
  ): Promise<Answer> {
    const identity = merchantId === undefined ? {} : { 'x-merchant-id': Buffer.from(merchantId, 'utf8').toString('latin1') };
    const started = performance.now();
    const response = await this.pool(gateway).request({
      method: method,
      path,
      headers: { ...identity, ...headers },
      ...(body !== undefined && { body }),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, body: text, ms: performance.now() - started };
  }

  async metric(gateway: RunningApp, line: RegExp): Promise<number> {
    const text = await (await fetch(`${gateway.managementUrl}/metrics`)).text();
    return text
      .split('\n')
      .filter((each) => line.test(each))
      .reduce((sum, each) => sum + Number(each.slice(each.lastIndexOf(' '))), 0);
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.destroy()));
    await Promise.all(this.gateways.map((gateway) => gateway.kill()));
    this.redis.disconnect();
    this.upstream.closeAllConnections();
    this.upstream.close();
    await Promise.all([this.redisServer.stop(), this.database.drop()]);
  }

  private pool(gateway: RunningApp): Pool {
    let pool = this.pools.get(gateway.url);
    if (!pool) this.pools.set(gateway.url, (pool = new Pool(gateway.url, { connections: 64, pipelining: 1 })));
    return pool;
  }
}
