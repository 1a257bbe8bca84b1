import type { ValueTransformer } from 'typeorm';
import type { Cost, CostOfField } from '#limiter';

/** The number in the column of costs. Of a cost that a field says it is the most that it may be: readers of before, who know no other column, ignore such a rule by its language. */
export function costNumber(cost: Cost): number {
  return typeof cost === 'number' ? cost : cost.max;
}

/** What stands beside it. */
export function costOfField(cost: Cost): CostOfField | null {
  return typeof cost === 'number' ? null : cost;
}

export const costColumn: ValueTransformer = {
  to: (cost: unknown) => (typeof cost === 'object' && cost !== null ? costNumber(cost as CostOfField) : cost),
  from: (number: unknown) => number,
};
