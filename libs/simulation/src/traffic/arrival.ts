/** One request as the simulation sees it. */
export interface Arrival {
  /** Milliseconds since the run began; fractions are microseconds. Never less than that of the arrival before. */
  readonly atMs: number;
  /** Whose bucket it takes from. */
  readonly key: string;
  /** Tokens. */
  readonly cost: number;
}

/** Clocks and stores count microseconds: so do arrivals, and a run does not depend on what a double holds beyond them. */
export const wholeUs = (ms: number): number => Math.round(ms * 1000) / 1000;
