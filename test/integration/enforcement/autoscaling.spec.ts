import { setTimeout } from 'node:timers/promises';
import { Enforcer } from '#enforcement';
import { startLimits, type MerchantSnapshot, type Rule } from '#limiter';
import { burst } from '#limiter/testing';
import { Registry } from 'prom-client';
import { rule } from '../../support/factories/rules.js';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

const [FEW, MANY] = [2, 8];
/** Full ten seconds after it was empty: however long a busy machine stands still, no token is lost. */
const STEADY = { capacity: 100, refillTokens: 10 };
/** Divides by FEW and by MANY, and does not come back during the test. */
const SHARED_CAPACITY = 24;
const CLIENTS_OF_ONE = 2;
const CLIENT_PAUSE_MS = 5;

const steady: Rule = rule({ ...STEADY, onStoreFailure: 'closed' });
const shared: Rule = rule({
  limits: startLimits([burst({ capacity: SHARED_CAPACITY, refillTokens: 1, refillIntervalMs: 86_400_000 })], Date.now()),
  match: { methods: ['POST'], paths: [] },
  onStoreFailure: 'local',
});

/** One gateway of a scaled set, with what is asked of it. */
class Replica {
  private readonly registry = new Registry();
  private readonly enforcer: Enforcer;
  private leaving = false;
  private clients: Promise<void>[] = [];

  constructor(redisUrl: string) {
    this.enforcer = new Enforcer({
      redisUrl,
      ruleSource: {
        connect: () => Promise.resolve(),
        snapshot: (merchantId): Promise<MerchantSnapshot> =>
          Promise.resolve({
            merchantId,
            version: 1,
            exists: true,
            timeZone: 'Etc/UTC',
            rules: [merchantId === 'steady' ? steady : shared],
          }),
        defaultRules: () => Promise.resolve({ version: 1, rules: [] }),
        plan: () => Promise.resolve(null),
        close: () => Promise.resolve(),
      },
      logger: { info: () => {}, warn: () => {} },
      registry: this.registry,
      // Exactness is the promise here, not speed: a busy test machine must not turn a late answer into a failure policy.
      storeTimeoutMs: 10_000,
      unknownLookupsPerSecond: 1_000,
      unknownLookupsPerPeer: 1_000,
    });
  }

  async join(seen: Load): Promise<this> {
    await this.enforcer.open();
    this.clients = Array.from({ length: CLIENTS_OF_ONE }, () => this.ask(seen));
    return this;
  }

  /** As a gateway ends: what has come is answered, then it leaves. */
  async leave(): Promise<void> {
    this.leaving = true;
    await Promise.all(this.clients);
    await this.enforcer.close();
  }

  check(merchantId: string, method = 'POST'): Promise<string> {
    const descriptor = { merchantId, ip: '192.0.2.7', method, target: '/' };
    return new Promise((resolve) => this.enforcer.check(descriptor, ({ reason }) => resolve(reason)));
  }

  async gauge(name: string): Promise<number> {
    const text = await this.registry.getSingleMetricAsString(name);
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  private async ask(seen: Load): Promise<void> {
    while (!this.leaving && !seen.over) {
      const askedMs = performance.now();
      seen.firstMs ??= askedMs;
      const reason = await this.check('steady');
      seen.lastMs = performance.now();
      seen.answeredMs ??= seen.lastMs;
      if (reason === 'over_limit') seen.refusedMs = Math.max(seen.refusedMs, askedMs);
      seen.reasons.set(reason, (seen.reasons.get(reason) ?? 0) + 1);
      // Refusals come from memory: without a pause they would take a core from other tests.
      await setTimeout(CLIENT_PAUSE_MS);
    }
  }
}

interface Load {
  over: boolean;
  /** The first question, and its answer. */
  firstMs?: number;
  answeredMs?: number;
  /** When the last one was asked that was refused: the bucket was empty then. */
  refusedMs: number;
  /** The last answer. */
  lastMs: number;
  readonly reasons: Map<string, number>;
}

const newLoad = (): Load => ({ over: false, refusedMs: -Infinity, lastMs: 0, reasons: new Map() });

let server: TestRedis;
const replicas: Replica[] = [];

const counted = (count: number) =>
  until(`all count ${count}`, async () => (await gauges('tollgate_live_gateways')).every((each) => each === count), 30_000);
const gauges = (name: string): Promise<number[]> => Promise.all(replicas.map((replica) => replica.gauge(name)));

async function scaleTo(count: number, seen: Load): Promise<void> {
  if (count > replicas.length) {
    const joining = Array.from({ length: count - replicas.length }, () => new Replica(server.url).join(seen));
    replicas.push(...(await Promise.all(joining)));
  } else await Promise.all(replicas.splice(count).map((replica) => replica.leave()));
}

/** What all replicas together admit of one merchant, of whom each asks for the whole limit, while Redis is away. */
async function admittedLocally(merchantId: string): Promise<number> {
  // Reads the rules and takes nothing: none is for this method.
  await Promise.all(replicas.map((replica) => replica.check(merchantId, 'GET')));
  await server.kill();
  const reasons = await Promise.all(
    replicas.flatMap((replica) => Array.from({ length: SHARED_CAPACITY }, () => replica.check(merchantId))),
  );
  await server.restart();
  await until('Redis is back', async () => (await gauges('tollgate_store_available')).every((each) => each === 1), 30_000);
  return reasons.filter((reason) => reason === 'allowed').length;
}

beforeAll(async () => (server = await freshRedis()));
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.leave()));
  await server.stop();
});

test(`from ${FEW} gateways to ${MANY} and back under load, a bucket gives B + r * t, and nobody is refused for want of a store`, async () => {
  const seen = newLoad();
  await scaleTo(FEW, seen);
  await counted(FEW);
  for (const count of [4, MANY, 5, FEW]) {
    await scaleTo(count, seen);
    await counted(count);
  }
  seen.over = true;
  await scaleTo(0, seen);
  const { allowed = 0, ...others } = Object.fromEntries(seen.reasons);
  const most = STEADY.capacity + (STEADY.refillTokens * (seen.lastMs - seen.firstMs!)) / 1000;
  expect(Object.keys(others)).toEqual(['over_limit']);
  expect(allowed).toBeLessThanOrEqual(most);
  // However late answers come on a busy machine: what had come back by then was taken.
  const least = STEADY.capacity + (STEADY.refillTokens * (seen.refusedMs - seen.answeredMs!)) / 1000;
  expect(allowed).toBeGreaterThanOrEqual(least - 3);
}, 120_000);

test(`the shares of ${FEW}, of ${MANY} and again of ${FEW} gateways add up to the limit while Redis is away`, async () => {
  const seen = { ...newLoad(), over: true };
  const sums: number[] = [];
  for (const [i, count] of [FEW, MANY, FEW].entries()) {
    await scaleTo(count, seen);
    await counted(count);
    sums.push(await admittedLocally(`shared-${i}`));
    await counted(count);
  }
  expect(sums).toEqual([SHARED_CAPACITY, SHARED_CAPACITY, SHARED_CAPACITY]);
}, 120_000);

test('gateways that have just left still have a share: less than the limit is admitted until the others have counted anew', async () => {
  const seen = { ...newLoad(), over: true };
  await scaleTo(MANY, seen);
  await counted(MANY);
  await scaleTo(FEW, seen);
  expect(await admittedLocally('shared-at-once')).toBeLessThanOrEqual(SHARED_CAPACITY);
}, 120_000);
