/** What all limits under test have in common: so many tokens in a window. */
export interface Bound {
  /** Whole, >= 1. */
  readonly limit: number;
  readonly windowMs: number;
}
