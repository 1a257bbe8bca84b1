import { type ValueTransformer } from 'typeorm';

/** bigint columns come as text. Versions count changes and stay far below 2^53. */
export const bigintNumber: ValueTransformer = {
  from: (value: string | null) => (value === null ? null : Number(value)),
  to: (value: number | null) => value,
};
