import type { LeasingBucketStore } from '#limiter';
import { counter, gauge } from '#metrics';
import type { Registry } from 'prom-client';

/** What becomes of tokens that this process was lent, or has spent before the store knew. */
export function registerLeaseMetrics(registry: Registry, leasing: LeasingBucketStore): void {
  const { counts } = leasing;
  const counters: readonly (readonly [name: string, help: string, read: () => number])[] = [
    [
      'tollgate_lease_reports_total',
      'Words to Redis about a bucket: of a lease, or of what was spent optimistically.',
      () => counts.reports,
    ],
    ['tollgate_lease_granted_tokens_total', 'Tokens that Redis has lent.', () => counts.lent],
    ['tollgate_lease_spent_tokens_total', 'Tokens that requests have spent from leases.', () => counts.spent - counts.putBack],
    ['tollgate_lease_returned_tokens_total', 'Tokens of leases that went back to Redis unspent.', () => counts.givenBack],
    ['tollgate_lease_lapsed_tokens_total', 'Tokens of leases that ended unspent, in time or with an edit.', () => counts.lapsed],
    [
      'tollgate_lease_refusals_total',
      'Requests that Redis refused for want of tokens while other gateways held some of the bucket.',
      () => counts.refusedWhileLent,
    ],
    [
      'tollgate_optimistic_overdrawn_tokens_total',
      'Tokens spent under optimistic rules that Redis did not have when it was told.',
      () => counts.overdrawn,
    ],
  ];
  for (const [name, help, read] of counters) counter(registry, name, help, read);
  gauge(registry, 'tollgate_lease_held_tokens', 'Tokens of leases that can be spent.', () => leasing.held);
  gauge(
    registry,
    'tollgate_optimistic_owed_tokens',
    'Tokens spent under optimistic rules that Redis has not taken yet.',
    () => leasing.owed,
  );
  gauge(
    registry,
    'tollgate_local_buckets_bytes',
    'Memory for buckets about which this process decides by itself, by estimate.',
    () => leasing.bytes,
  );
}
