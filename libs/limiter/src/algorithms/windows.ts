/** How time is cut into windows. */
export interface Windows {
  /** The length of all windows in microseconds; 0 where a calendar makes them differ. */
  readonly lengthUs: number;
  /** The window that holds an instant: its first microsecond, and the first of the next. */
  readonly around: (nowUs: number) => WindowBounds;
}

export interface WindowBounds {
  readonly startUs: number;
  readonly endUs: number;
}

/** Windows of one length, counted from 1970. */
export function equalWindows(lengthUs: number): Windows {
  return {
    lengthUs,
    around(nowUs) {
      const startUs = Math.floor(nowUs / lengthUs) * lengthUs;
      return { startUs, endUs: startUs + lengthUs };
    },
  };
}
