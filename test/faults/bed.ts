/** Two gateways under a steady load, on stores and an upstream that a test can make ill; what their clients and the upstream saw. */
import { createServer, type Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'undici';
import type { MerchantSnapshot } from '#limiter';
import { House } from '../e2e/gateway/house.js';
import { forwarderThread, type ForwarderThread } from '../support/forwarder.mjs';
import { PATIENCE } from '../support/patience.mjs';
import type { RunningApp } from '../support/processes.js';
import type { ShiftedRedis } from '../support/shifted-redis.js';
import { until } from '../support/until.js';
import { Machine } from './machine.js';
import { isOverLimit, LIMIT, MERCHANTS, ruleOf, type Merchant, type OverLimit } from './merchants.js';
import { percentile, ReceivedLog, type Answer } from './observations.js';

/** Requests a second of each merchant. */
const RATE = 50;
const GATEWAYS = 2;
/** A client that waits longer than this gives up. */
const GIVE_UP_MS = 10_000;
/** Names of what runs here, so that it can be tried what happens without DNS: see pretend.mjs. */
const HOSTS = { redis: 'redis.tollgate.test', database: 'postgres.tollgate.test', upstream: 'upstream.tollgate.test' };

/** What was seen from one moment to another. */
export interface Observed {
  /** How often each merchant got each status. */
  readonly statuses: Record<Merchant, Record<number, number>>;
  readonly slowestMs: number;
  readonly p99Ms: number;
}

interface BedOptions {
  readonly storeTimeoutMs: number;
  readonly upstreamTimeoutMs: number;
  /** A request that is due is left out while so many wait for their answers; Infinity where their delay is judged, because clients do not wait for each other either. */
  readonly mostUnderWay: number;
  /** A Redis whose clock can be set, instead of any. */
  readonly redisClock?: ShiftedRedis;
}

export class FaultBed {
  readonly answers: Answer[] = [];
  readonly gateways: RunningApp[] = [];
  /** What each gateway believes of its machine. */
  readonly machines: Machine[] = [];
  /** The rules of each merchant as they are. */
  readonly snapshots = new Map<Merchant, MerchantSnapshot>();
  readonly received = new ReceivedLog();
  private readonly pools: Pool[] = [];
  private version = 100;
  private load: NodeJS.Timeout | undefined;
  private sent = 0;
  private readonly waiting = new Set<Promise<void>>();

  private constructor(
    readonly house: House,
    /** The ways from the gateways to what they need. */
    readonly redisWay: ForwarderThread,
    readonly databaseWay: ForwarderThread,
    readonly upstreamWay: ForwarderThread,
    private readonly upstream: Server,
    private readonly options: BedOptions,
  ) {}

  static async open(options: BedOptions): Promise<FaultBed> {
    const house = await House.open(options.redisClock);
    const upstream = createServer((request, response) => {
      bed.received.note(request.headers);
      response.setHeader('content-type', 'application/json').end('{"ok":true}');
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as { port: number };
    const databasePort = Number(new URL(house.database.url).port);
    const [redisWay, databaseWay, upstreamWay] = await Promise.all(
      [house.redisServer.port, databasePort, port].map((to) => forwarderThread(to)),
    );
    const bed = new FaultBed(house, redisWay!, databaseWay!, upstreamWay!, upstream, options);
    await house.store(Object.fromEntries(MERCHANTS.map((id) => [id, [ruleOf(id)]])));
    for (const id of MERCHANTS) bed.snapshots.set(id, (await house.snapshots.read(id))!);
    for (let i = 0; i < GATEWAYS; i++) await bed.addGateway();
    return bed;
  }

  get redisClock(): ShiftedRedis | undefined {
    return this.options.redisClock;
  }

  /** Of rules, higher than all before. */
  nextVersion(): number {
    return ++this.version;
  }

  /** @param options.logTo a file for its log */
  async addGateway({ logTo }: { logTo?: string } = {}): Promise<void> {
    const databaseUrl = new URL(this.house.database.url);
    databaseUrl.hostname = HOSTS.database;
    databaseUrl.port = String(this.databaseWay.port);
    const machine = new Machine();
    const env = {
      ...machine.env,
      REDIS_URL: `redis://${HOSTS.redis}:${this.redisWay.port}`,
      DATABASE_URL: databaseUrl.href,
      UPSTREAM_URL: `http://${HOSTS.upstream}:${this.upstreamWay.port}`,
      UPSTREAM_RESPONSE_TIMEOUT_MS: String(this.options.upstreamTimeoutMs),
      STORE_TIMEOUT_MS: String(this.options.storeTimeoutMs),
    };
    const gateway = await this.house.gateway(env, logTo === undefined ? {} : { logTo });
    this.gateways.push(gateway);
    this.machines.push(machine);
    this.pools.push(new Pool(gateway.url, { connections: 200, pipelining: 1 }));
  }

  /** Takes a gateway out of the load, as a balancer does that sees it unready: it is sent nothing new, and what is under way is awaited. */
  async removeGateway(at = 0): Promise<void> {
    this.gateways.splice(at, 1);
    this.machines.splice(at, 1)[0]!.remove();
    await this.pools.splice(at, 1)[0]!.close();
  }

  /** A gateway is told to end. */
  async stopGateway(at = 0): Promise<void> {
    this.gateways[at]!.signal('SIGTERM');
    await this.removeGateway(at);
  }

  /** Sends at a steady rate until stopLoad(). */
  startLoad(): void {
    const beganMs = performance.now();
    let due = 0;
    this.load = setInterval(() => {
      for (const now = performance.now(); beganMs + (due * 1000) / (RATE * MERCHANTS.length) < now; due++)
        if (this.waiting.size < this.options.mostUnderWay) this.send(MERCHANTS[due % MERCHANTS.length]!);
    }, 2);
  }

  /** The load runs on for so long: the quiet before a fault, or a fault's own duration. */
  async loadFor(durationMs: number): Promise<void> {
    await setTimeout(durationMs);
  }

  /** No more is sent; what is under way is waited for. */
  async stopLoad(): Promise<void> {
    clearInterval(this.load);
    await Promise.all(this.waiting);
  }

  private send(merchant: Merchant): void {
    const id = this.sent++;
    const pool = this.pools[Math.floor(id / MERCHANTS.length) % this.pools.length]!;
    const sentMs = performance.now();
    const request = pool
      .request({
        method: 'GET',
        path: '/transactions',
        headers: this.received.headersOf(merchant, id),
        headersTimeout: GIVE_UP_MS * PATIENCE,
      })
      .then(
        async ({ statusCode, body }) => body.dump().then(() => statusCode),
        () => 0,
      )
      .catch(() => 0)
      .then((status) => {
        this.answers.push({ id, merchant, sentMs, tookMs: performance.now() - sentMs, status });
        this.waiting.delete(request);
      });
    this.waiting.add(request);
  }

  /** Of the requests that were answered from one moment to another. */
  observed(fromMs: number, untilMs: number): Observed {
    const statuses = Object.fromEntries(MERCHANTS.map((merchant) => [merchant, {}])) as Observed['statuses'];
    const times: number[] = [];
    for (const { merchant, sentMs, tookMs, status } of this.answers) {
      const answeredMs = sentMs + tookMs;
      if (answeredMs < fromMs || answeredMs >= untilMs) continue;
      statuses[merchant][status] = (statuses[merchant][status] ?? 0) + 1;
      times.push(tookMs);
    }
    return { statuses, slowestMs: Math.max(0, ...times), p99Ms: percentile(times, 0.99) };
  }

  /** Milliseconds from then until the last answer that was not as it should be, or 0. Only merchants that are never over their limit. */
  healedAfterMs(fromMs: number): number {
    const wrong = this.answers.filter(({ merchant, sentMs, status }) => !isOverLimit(merchant) && sentMs >= fromMs && status !== 200);
    return Math.max(0, ...wrong.map(({ sentMs, tookMs }) => sentMs + tookMs - fromMs));
  }

  /** Until nothing was wrong for `steadyMs`; fails if that takes longer than `withinMs`. */
  untilSteady(fromMs: number, steadyMs: number, withinMs: number): Promise<boolean> {
    const steady = (): boolean => performance.now() - fromMs - this.healedAfterMs(fromMs) > steadyMs;
    return until(`nothing was wrong for ${steadyMs} ms`, steady, withinMs);
  }

  /** Until every merchant has been let through once, of what was sent since then. */
  untilAllServed(sinceMs: number, withinMs: number): Promise<boolean> {
    const isServed = (name: Merchant): boolean =>
      this.answers.some(({ merchant, sentMs, status }) => merchant === name && sentMs >= sinceMs && status === 200);
    return until('all merchants are served', () => MERCHANTS.every(isServed), withinMs);
  }

  /** How many requests of a merchant over its limit reached the upstream, and how many the law allows in that time. */
  admitted(merchant: OverLimit, fromMs: number, untilMs: number): { count: number; bound: number } {
    const count = this.received.countOf(merchant, fromMs, untilMs);
    return { count, bound: LIMIT.capacity + Math.ceil(((untilMs - fromMs) / 1000) * LIMIT.perSecond) };
  }

  async close(): Promise<void> {
    clearInterval(this.load);
    await Promise.all(this.pools.map((pool) => pool.destroy()));
    for (const machine of this.machines) machine.remove();
    for (const way of [this.redisWay, this.databaseWay, this.upstreamWay]) way.close();
    this.upstream.closeAllConnections();
    this.upstream.close();
    await this.house.close();
  }
}
