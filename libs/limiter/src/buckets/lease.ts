/**
 * What is lent of a bucket stands beside its state. Lent tokens are missing from the bucket and still occupy it: it refills only up to its capacity less
 * what is lent. A plain bucket from which each token is taken when it is spent never holds less than what is left here and what is lent together, so
 * law 1 holds as it is written, whatever dies or is lost. A lease that ends without a word counts as spent at its end.
 *
 * The Lua scripts do the same, as exactly.
 */
export interface Lease {
  readonly lessee: number;
  /** Of the last call of the lessee that was carried out. */
  readonly sequence: number;
  /** Tokens, > 0. */
  readonly lent: number;
  /**
   * By the clock of the store, in microseconds: from then on nothing of it is spent. A microsecond later than the lessee counts, because it may spend
   * until its own end, and the last microsecond before this one counts as the moment at which it has spent all.
   */
  readonly endUs: number;
}

/** Those that end first stand in front. */
export type Leases = readonly Lease[];

/** A lease ends so long after the call that renewed it last, at most. */
export const MOST_LEASE_US = 10_000_000;
/** All leases of a bucket together hold at most this share of its capacity, rounded down. */
export const MOST_LENT_SHARE = 1 / 2;
/** How many gateways lease one bucket at once, at most. */
export const MOST_LESSEES = 64;

export const NO_LEASES: Leases = [];

/** The leases that are not over at an instant, none ending later than a lease can last from then: the same list if nothing changes. */
export function runningAt(leases: Leases, nowUs: number): Leases {
  const latestUs = nowUs + MOST_LEASE_US + 1;
  if (leases.every(({ endUs }) => endUs > nowUs && endUs <= latestUs)) return leases;
  return leases.filter(({ endUs }) => endUs > nowUs).map((lease) => (lease.endUs > latestUs ? { ...lease, endUs: latestUs } : lease));
}

/** Of leases, those that were not over at an instant: the same list if these are all. */
export function afterwards(leases: Leases, atUs: number): Leases {
  return leases.every(({ endUs }) => endUs > atUs) ? leases : leases.filter(({ endUs }) => endUs > atUs);
}

export function lentBy(leases: Leases): number {
  return leases.reduce((sum, { lent }) => sum + lent, 0);
}
