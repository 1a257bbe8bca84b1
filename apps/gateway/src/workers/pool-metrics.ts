import { counter, gauge } from '#metrics';
import { AggregatorRegistry, Registry } from 'prom-client';
import type { WorkerPool } from './worker-pool.js';

/** The metrics of all workers and of the primary as those of one process: each series is their sum, or what its metric says of several processes. */
export class PoolMetrics extends Registry {
  constructor(
    private readonly own: Registry,
    private readonly pool: WorkerPool,
  ) {
    super();
    registerPool(own, pool);
  }

  override async metrics(): Promise<string> {
    const lists = [await this.own.getMetricsAsJSON(), ...(await this.pool.ask('metrics')).filter(Array.isArray)];
    return AggregatorRegistry.aggregate(lists).metrics();
  }
}

/** @param pool undefined: the gateway is one process */
export function registerPool(registry: Registry, pool: WorkerPool | undefined): void {
  gauge(registry, 'tollgate_workers_serving', 'Processes of this gateway that serve its port.', () => pool?.serving ?? 1);
  gauge(
    registry,
    'tollgate_workers_standing_by',
    'Processes of this gateway that are warm and wait to take the place of one that dies.',
    () => pool?.standingBy ?? 0,
  );
  counter(
    registry,
    'tollgate_worker_deaths_total',
    'Processes of this gateway that ended without having been told to.',
    () => pool?.deaths ?? 0,
  );
}
