import type { Decision } from '#limiter';
import { BucketMap } from '../algorithms/bucket-map.js';
import { tokenBucketSpec } from '../algorithms/specs.js';
import type { Arrival } from '../traffic/arrival.js';
import { Table } from './table.js';
import type { Decide, Topology } from './topology.js';

/** A lease is this share of the capacity, and at least one token. */
const LEASE_SHARE = 0.05;
/** What is left of a lease after this share of a window is lost: tokens must not be hoarded over a quiet time. */
const LEASE_WINDOWS = 0.25;

interface Lease {
  tokens: number;
  endsAtMs: number;
  refusedUntilMs: number;
  /** Requests that wait for the store's answer; undefined when none is expected. */
  waiting: { arrival: Arrival; decide: Decide }[] | undefined;
}

/** Nodes take tokens from the shared bucket in advance, and spend them without asking anybody. */
export const leases: Topology = {
  name: 'leases',
  title: 'pre-taken leases',
  start({ clock, network, bound }) {
    const store = new BucketMap(tokenBucketSpec(bound));
    const size = Math.max(1, Math.floor(bound.limit * LEASE_SHARE));
    const lifeMs = bound.windowMs * LEASE_WINDOWS;
    const held = new Table(
      (_node: number) => new Table((_key: string): Lease => ({ tokens: 0, endsAtMs: 0, refusedUntilMs: 0, waiting: undefined })),
    );

    /** A whole lease, or what there is, if that is enough for the request. */
    const grant = (key: string, cost: number): { tokens: number; refusal?: Decision } => {
      const { remaining } = store.take(key, 0, clock.nowMs);
      const tokens = Math.max(cost, Math.min(remaining, size));
      const decision = store.take(key, tokens, clock.nowMs);
      return decision.allowed ? { tokens } : { tokens: 0, refusal: decision };
    };

    const decideHere = (lease: Lease, arrival: Arrival, decide: Decide): void => {
      if (lease.endsAtMs <= clock.nowMs) lease.tokens = 0;
      if (lease.tokens >= arrival.cost) {
        lease.tokens -= arrival.cost;
        decide(true);
      } else if (lease.refusedUntilMs > clock.nowMs) {
        decide(false);
      } else if (lease.waiting) {
        lease.waiting.push({ arrival, decide });
      } else {
        ask(lease, arrival, decide);
      }
    };

    const ask = (lease: Lease, arrival: Arrival, decide: Decide): void => {
      lease.waiting = [{ arrival, decide }];
      network.ask(
        () => grant(arrival.key, arrival.cost),
        ({ tokens, refusal }) => {
          const waiting = lease.waiting ?? [];
          lease.waiting = undefined;
          if (refusal) lease.refusedUntilMs = clock.nowMs + (refusal.retryAfterMs === 'never' ? 0 : refusal.retryAfterMs);
          else Object.assign(lease, { tokens: lease.tokens + tokens, endsAtMs: clock.nowMs + lifeMs });
          const [first, ...rest] = waiting;
          // The first one's answer is this one, also where the store could give again by now.
          if (refusal) first?.decide(false);
          else if (first) decideHere(lease, first.arrival, first.decide);
          for (const other of rest) decideHere(lease, other.arrival, other.decide);
        },
      );
    };

    return (arrival, node, decide) => decideHere(held.of(node).of(arrival.key), arrival, decide);
  },
};
