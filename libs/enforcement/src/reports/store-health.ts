import type { StoreFailure, StoreFailureCode } from '#limiter-redis';
import { counter, counterBy, Histogram, SECONDS_BOUNDS } from '#metrics';
import type { EnforcerLogger } from '../enforcer-options.js';
import type { Registry } from 'prom-client';

/** A store that failed is said to be back after so long without a failure: one that comes and goes is not worth two lines each time. */
const SETTLED_AFTER_MS = 2000;

export interface StoreHealthOptions {
  readonly logger: EnforcerLogger;
  readonly registry: Registry;
}

/**
 * What operators learn of a store that fails: each reason once in an outage in the log, every failed call in a metric, the latest
 * reason in /readyz.
 */
export class StoreHealth {
  private readonly failures = new Map<StoreFailureCode, number>();
  /** The reasons that were said since the store was last in order. */
  private readonly said = new Set<StoreFailureCode>();
  private latest: StoreFailure | undefined;
  private openings = 0;
  private readonly callDuration = new Histogram({
    name: 'tollgate_store_call_duration_seconds',
    help: 'How long Redis took to answer a call with the takes of a moment.',
    bounds: [0.0001, 0.00025, ...SECONDS_BOUNDS.slice(0, -3)],
    perUnit: 1000,
  });
  private readonly callTakes = new Histogram({
    name: 'tollgate_store_call_requests',
    help: 'Requests whose takes went to Redis in one call.',
    bounds: [1, 2, 4, 8, 16, 32, 64, 128],
  });
  private settling: NodeJS.Timeout | undefined;

  constructor(private readonly options: StoreHealthOptions) {
    const { registry } = options;
    const failures = () => [...this.failures].map(([code, count]) => [[code], count] as const);
    counterBy(
      registry,
      'tollgate_store_failures_total',
      'Calls of Redis for takes that failed, by what Redis or the network said.',
      ['code'],
      failures,
    );
    counter(registry, 'tollgate_store_breaker_openings_total', 'Times that takes were no longer sent to Redis.', () => this.openings);
    this.callDuration.register(registry);
    this.callTakes.register(registry);
  }

  failed(failure: StoreFailure): void {
    const { code, meaning, said, node } = failure;
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
    // Others are served, and nobody says when such a call would be.
    if (failure.sparesOthers) return;
    this.latest = failure;
    clearTimeout(this.settling);
    this.settling = undefined;
    if (this.said.has(code)) return;
    this.said.add(code);
    const who = node === undefined ? 'Redis carries out no takes' : 'A master of the Redis Cluster carries out no takes';
    this.options.logger.warn(
      { code, said, ...(node !== undefined && { node }) },
      `${who}, each rule acts by its onStoreFailure: ${meaning}`,
    );
  }

  /** Redis has answered a call. @param requests whose takes were in it */
  answered(tookMs: number, requests: number): void {
    this.callDuration.observe(tookMs);
    this.callTakes.observe(requests);
  }

  /** Takes are carried out again, or no longer: then `failed` says why. */
  changed(available: boolean): void {
    if (!available) this.openings++;
    if (!available || this.said.size === 0) return;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settled(), SETTLED_AFTER_MS);
  }

  /** A check for /readyz: throws with the reason until the store is in order again. */
  readonly check = (): void => {
    if (this.latest) throw new Error(`${this.latest.code}: ${this.latest.meaning} (${this.latest.said})`);
  };

  stop(): void {
    clearTimeout(this.settling);
  }

  private settled(): void {
    this.said.clear();
    this.latest = undefined;
    this.options.logger.info('Redis carries out takes again: limits are exact');
  }
}
