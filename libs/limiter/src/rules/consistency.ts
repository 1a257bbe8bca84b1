import type { ChoiceField } from '../fields/field.js';

/**
 * Who decides about a request: the store, always; this process where it has been lent tokens of the bucket; or this process by what it has last
 * heard of the bucket, and the store is told afterwards.
 */
export const CONSISTENCIES = ['exact', 'leased', 'optimistic'] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** How a process may decide about a bucket without asking the store. */
export type Lending = Exclude<Consistency, 'exact'>;

export const CONSISTENCY = {
  kind: 'choice',
  values: CONSISTENCIES,
  default: 'exact',
  absentMeans: 'exact',
  explanation:
    'How exactly buckets are shared: exact asks the store for each request, leased spends tokens of hot buckets that a gateway took in advance, ' +
    'optimistic decides by what a gateway knows and tells the store afterwards. See docs/algorithms.md for the bound of each.',
} as const satisfies ChoiceField;
