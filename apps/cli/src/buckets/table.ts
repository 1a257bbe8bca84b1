import { anyTable } from '../shared/any-table.js';

/** A bucket as the API shows it. */
export interface Bucket {
  readonly ruleId: string;
  readonly rule: string;
  readonly limit: string;
  readonly key: readonly string[];
  readonly needs: readonly string[];
  readonly capacity: number | null;
  readonly remaining: number | null;
  readonly resetAfterMs: number | null;
  readonly blockedForMs: number | null;
}

export function bucketsTable(buckets: readonly Bucket[]): string {
  if (buckets.length === 0) return 'No buckets.';
  return anyTable(
    buckets.map(({ ruleId, rule, limit, key, needs, capacity, remaining, resetAfterMs, blockedForMs }) => ({
      rule: `${ruleId} ${rule}`,
      limit,
      key: key.join(', '),
      remaining: needs.length > 0 ? `say ${needs.map(optionOf).join(' ')}` : `${remaining ?? '-'} of ${capacity ?? '-'}`,
      'full in': resetAfterMs === null ? null : `${resetAfterMs} ms`,
      'blocked for': blockedForMs ? `${blockedForMs} ms` : null,
    })),
  );
}

/** The option that names a part of a key. */
function optionOf(part: string): string {
  if (part === 'method') return '--method';
  return part === 'ip' || part === 'ip.prefix' ? '--ip' : `--key ${part}=`;
}
