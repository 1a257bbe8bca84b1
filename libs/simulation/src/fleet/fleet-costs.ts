import type { FleetFigures } from './fleet.js';

/** What one of each costs, in microseconds of a core. */
export interface FleetCosts {
  /** Redis: one take, gathered with others into a call. */
  readonly redisTakeUs: number;
  /** Redis: one report of a lease, gathered with others. */
  readonly redisLendUs: number;
  /** A gateway: one decision by a take. */
  readonly takeUs: number;
  /** A gateway: one decision from a lease. */
  readonly leasedUs: number;
}

/**
 * From the table in docs/benchmarks.md: "token_bucket: Redis CPU a take", and the decisions a second of "store". No benchmark of lease reports is published
 * yet. They go through the general part of the scripts, so they are taken for as dear as a take that does: "token_bucket, interval: Redis CPU a take".
 */
export const PUBLISHED_COSTS: Omit<FleetCosts, 'leasedUs'> = { redisTakeUs: 2.68, redisLendUs: 7, takeUs: 3.01 };

/** Cores that are busy all the time. */
export interface FleetCores {
  readonly redis: number;
  /** Only what deciding takes: forwarding comes on top. */
  readonly gateways: number;
}

/** A lease report costs a gateway as much as a take. */
export function coresOf({ seconds, decisions, withoutCall, takes, lends }: FleetFigures, costs: FleetCosts): FleetCores {
  const { redisTakeUs, redisLendUs, takeUs, leasedUs } = costs;
  return {
    redis: (takes * redisTakeUs + lends * redisLendUs) / (seconds * 1e6),
    gateways: ((decisions - withoutCall + lends) * takeUs + withoutCall * leasedUs) / (seconds * 1e6),
  };
}
