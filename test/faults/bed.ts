/** Two gateways under a steady load, on stores and an upstream that a test can make ill; what their clients and the upstream saw. */
import { createServer, type Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'undici';
import type { RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { House } from '../e2e/gateway/house.js';
import { ruleSpec } from '../support/factories/rules.js';
import { forwarderThread, type ForwarderThread } from '../support/forwarder.mjs';
import { PATIENCE } from '../support/patience.mjs';
import type { RunningApp } from '../support/processes.js';
import { until } from '../support/until.js';

/** Merchants by what their rules say for a store that is away, and one that asks for twice its limit. */
export const MERCHANTS = ['open', 'closed', 'local', 'limited'] as const;
export type Merchant = (typeof MERCHANTS)[number];

/** Requests a second of each merchant. */
const RATE = 50;
export const LIMITED = { capacity: 25, perSecond: 25 };
const GATEWAYS = 2;
/** A client that waits longer than this gives up. */
const GIVE_UP_MS = 10_000;

interface Answer {
  readonly merchant: Merchant;
  readonly sentMs: number;
  readonly tookMs: number;
  /** 0: none, the connection broke. */
  readonly status: number;
}

/** What was seen from one moment to another. */
export interface Observed {
  /** How often each merchant got each status. */
  readonly statuses: Record<Merchant, Record<number, number>>;
  readonly slowestMs: number;
}

export class FaultBed {
  readonly answers: Answer[] = [];
  readonly gateways: RunningApp[] = [];
  private readonly pools: Pool[] = [];
  private readonly admittedAtMs: number[] = [];
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
    private readonly storeTimeoutMs: number,
    private readonly mostUnderWay: number,
  ) {}

  /**
   * @param options.mostUnderWay a request that is due is left out while so many wait for their answers; Infinity where their
   *   delay is judged, because clients do not wait for each other either
   */
  static async open({ storeTimeoutMs, mostUnderWay }: { storeTimeoutMs: number; mostUnderWay: number }): Promise<FaultBed> {
    const house = await House.open();
    const upstream = createServer((request, response) => {
      if (request.headers['x-merchant-id'] === 'limited') bed.admittedAtMs.push(performance.now());
      response.setHeader('content-type', 'application/json').end('{"ok":true}');
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as { port: number };
    const databasePort = Number(new URL(house.database.url).port);
    const [redisWay, databaseWay, upstreamWay] = await Promise.all(
      [house.redisServer.port, databasePort, port].map((to) => forwarderThread(to)),
    );
    const bed = new FaultBed(house, redisWay!, databaseWay!, upstreamWay!, upstream, storeTimeoutMs, mostUnderWay);
    await house.store(Object.fromEntries(MERCHANTS.map((id) => [id, [ruleOf(id)]])));
    for (let i = 0; i < GATEWAYS; i++) await bed.addGateway();
    return bed;
  }

  async addGateway(): Promise<RunningApp> {
    const databaseUrl = new URL(this.house.database.url);
    databaseUrl.port = String(this.databaseWay.port);
    const gateway = await this.house.gateway({
      REDIS_URL: `redis://127.0.0.1:${this.redisWay.port}`,
      DATABASE_URL: databaseUrl.href,
      UPSTREAM_URL: `http://127.0.0.1:${this.upstreamWay.port}`,
      STORE_TIMEOUT_MS: String(this.storeTimeoutMs),
    });
    this.gateways.push(gateway);
    this.pools.push(new Pool(gateway.url, { connections: 200, pipelining: 1 }));
    return gateway;
  }

  /** Takes a gateway out of the load, as a balancer does that sees it unready: it is sent nothing new, and what is under way is awaited. */
  async remove(gateway: RunningApp): Promise<void> {
    const at = this.gateways.indexOf(gateway);
    this.gateways.splice(at, 1);
    await this.pools.splice(at, 1)[0]!.close();
  }

  /** Sends at a steady rate until stopLoad(). */
  startLoad(): void {
    const beganMs = performance.now();
    let due = 0;
    this.load = setInterval(() => {
      for (const now = performance.now(); beganMs + (due * 1000) / (RATE * MERCHANTS.length) < now; due++)
        if (this.waiting.size < this.mostUnderWay) this.send(MERCHANTS[due % MERCHANTS.length]!);
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
    const pool = this.pools[Math.floor(this.sent++ / MERCHANTS.length) % this.pools.length]!;
    const sentMs = performance.now();
    const request = pool
      .request({ method: 'GET', path: '/transactions', headers: { 'x-merchant-id': merchant }, headersTimeout: GIVE_UP_MS * PATIENCE })
      .then(
        async ({ statusCode, body }) => body.dump().then(() => statusCode),
        () => 0,
      )
      .catch(() => 0)
      .then((status) => {
        this.answers.push({ merchant, sentMs, tookMs: performance.now() - sentMs, status });
        this.waiting.delete(request);
      });
    this.waiting.add(request);
  }

  /** Of the requests that were answered from one moment to another. */
  observed(fromMs: number, untilMs: number): Observed {
    const statuses = Object.fromEntries(MERCHANTS.map((merchant) => [merchant, {}])) as Observed['statuses'];
    let slowestMs = 0;
    for (const { merchant, sentMs, tookMs, status } of this.answers) {
      const answeredMs = sentMs + tookMs;
      if (answeredMs < fromMs || answeredMs >= untilMs) continue;
      statuses[merchant][status] = (statuses[merchant][status] ?? 0) + 1;
      slowestMs = Math.max(slowestMs, tookMs);
    }
    return { statuses, slowestMs };
  }

  /** Milliseconds from then until the last answer that was not as it should be, or 0. Only merchants that are never over their limit. */
  healedAfterMs(fromMs: number): number {
    const wrong = this.answers.filter(({ merchant, sentMs, status }) => merchant !== 'limited' && sentMs >= fromMs && status !== 200);
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

  /** How many requests of the limited merchant reached the upstream, and how many the law allows in that time. */
  admitted(fromMs: number, untilMs: number): { count: number; bound: number } {
    const count = this.admittedAtMs.filter((at) => at >= fromMs && at < untilMs).length;
    return { count, bound: LIMITED.capacity + Math.ceil(((untilMs - fromMs) / 1000) * LIMITED.perSecond) };
  }

  async close(): Promise<void> {
    clearInterval(this.load);
    await Promise.all(this.pools.map((pool) => pool.destroy()));
    for (const way of [this.redisWay, this.databaseWay, this.upstreamWay]) way.close();
    this.upstream.closeAllConnections();
    this.upstream.close();
    await this.house.close();
  }
}

function ruleOf(merchant: Merchant): RuleSpec {
  const [capacity, refillTokens] = merchant === 'limited' ? [LIMITED.capacity, LIMITED.perSecond] : [1_000_000, 1_000_000];
  return ruleSpec({
    match: { methods: [], paths: [] },
    limits: [burst({ capacity, refillTokens, refillIntervalMs: 1_000 })],
    onStoreFailure: merchant === 'limited' ? 'closed' : merchant,
  });
}
