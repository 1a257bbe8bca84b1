import type { ValueTransformer } from 'typeorm';

/** Reads a column of type bigint, which the driver returns as text, as a number. Versions count changes and stay far below 2^53. */
export const bigintNumber: ValueTransformer = {
  from: (value: string | null) => (value === null ? null : Number(value)),
  to: (value: number | null) => value,
};
