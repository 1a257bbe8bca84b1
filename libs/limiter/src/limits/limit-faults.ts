import { variantFaults } from '../fields/field-faults.js';
import { LIMIT, type LimitField, type LimitSpec } from './limit-fields.js';

export interface LimitFault {
  readonly field: LimitField;
  /** Stable, for programs: `limit.capacity.out_of_range`. */
  readonly code: string;
  readonly detail: string;
  /** For a number that is no limit's: the one next to it that is. */
  readonly nearest?: number;
}

/**
 * Every reason why these numbers make no bucket; empty when they do. The argument may be anything that calls itself a limit; fields that
 * no limit has are not looked at.
 */
export function limitFaults(spec: LimitSpec): LimitFault[] {
  return variantFaults(spec, LIMIT, { pointer: '', code: LIMIT.code, stored: true }).map(({ pointer, ...fault }) => ({
    field: pointer.slice(1) as LimitField,
    ...fault,
  }));
}

/** Thrown where a limit would be built from numbers that make no bucket. Names every wrong field. */
export class InvalidLimitError extends Error {
  constructor(readonly faults: readonly LimitFault[]) {
    super(faults.map((fault) => `${fault.field}: ${fault.detail}`).join('; '));
    this.name = 'InvalidLimitError';
  }
}
