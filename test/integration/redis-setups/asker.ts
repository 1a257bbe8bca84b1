import {
  bucketOf,
  type BucketTake,
  MemoryBucketStore,
  merchantRules,
  RateLimiter,
  startLimits,
  type Descriptor,
  type LimitSpec,
  type Rule,
  type Verdict,
} from '#limiter';
import { ruleOf } from '#limiter/testing';
import { openBuckets, type RedisBuckets, type RedisConnection } from '#limiter-redis';

const HOUR_MS = 3_600_000;

/** Nothing comes back while a test lasts. */
export const limitOf = (capacity: number, name = 'bucket'): LimitSpec => ({
  name,
  algorithm: 'token_bucket',
  capacity,
  refillTokens: 1,
  refillIntervalMs: HOUR_MS,
  refill: 'greedy',
});

export const ruleWith = (id: string, limits: readonly LimitSpec[], parts: Partial<Rule> = {}): Rule =>
  ruleOf(id, { limits: startLimits(limits, 0), onStoreFailure: 'closed', ...parts });

/** Asks a store as a gateway does: with rules, for a request. */
export class Asker {
  readonly store: RedisBuckets;
  private readonly limiter: RateLimiter;

  constructor(redis: RedisConnection, options: Parameters<typeof openBuckets>[1] = { deadlineMs: 20_000 }) {
    this.store = openBuckets(redis, options);
    this.limiter = new RateLimiter(this.store, new MemoryBucketStore(Date.now), {
      retries: { forMs: HOUR_MS, mostRetries: 5, mostRemembered: 100 },
    });
  }

  ask(rules: readonly Rule[], request: Partial<Descriptor> = {}): Promise<Verdict> {
    const descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target: '/', ...request };
    const compiled = merchantRules(descriptor.merchantId, rules, []);
    return new Promise((resolve, reject) =>
      this.limiter.check(compiled, descriptor, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))),
    );
  }

  /** How many of so many requests pass. */
  async passed(count: number, rules: readonly Rule[], request: Partial<Descriptor> = {}): Promise<number> {
    const verdicts = await Promise.all(Array.from({ length: count }, () => this.ask(rules, request)));
    return verdicts.filter(({ allowed }) => allowed).length;
  }

  /** From a bucket of its own. */
  take(): BucketTake {
    return { key: '{take}1.0', bucket: bucketOf(startLimits([limitOf(9)], 0)[0]!), cost: 1 };
  }

  close(): void {
    this.store.close();
  }
}
