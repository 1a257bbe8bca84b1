import { LABEL_KEY } from './label.js';

/** The name of a plan, a set of rules that merchants share: `free`, `pro`. It stands in paths and in keys of Redis, so it is made like the key of a label. */
export const PLAN_NAME = LABEL_KEY;

export function isPlanName(value: unknown): value is string {
  return typeof value === 'string' && PLAN_NAME.fault(value) === undefined;
}
