import { DeadlineError, withDeadline, type DeadlineOptions } from '#waiting';

/** A first request of a merchant may take this long to learn its rules, where Redis answers. */
const DEADLINE_MS = 2000;
/** Of a take's time, how long Redis may be silent before the rule source is asked as well: ten milliseconds by the clock, in which a Redis that is well has answered many times. */
export const PART_BEFORE_RULE_SOURCE = 0.2;

/**
 * What is loaded, or a DeadlineError. Where Redis is away, a request waits for its rules as long as others wait for a take, and the first one, which finds
 * it frozen, hardly longer; its take does not wait once more.
 *
 * @param readable whether Redis can be asked, as far as is known at the time
 * @param takeMs how long a take may wait for Redis. Milliseconds of running time
 */
export function rulesInTime<T>(loading: Promise<T>, readable: () => boolean, takeMs: number, options: DeadlineOptions = {}): Promise<T> {
  if (!readable()) return withDeadline(loading, takeMs, options);
  // The rule source has as long as if it had been asked at once.
  const shortMs = (1 + PART_BEFORE_RULE_SOURCE) * takeMs;
  if (shortMs >= DEADLINE_MS) return withDeadline(loading, DEADLINE_MS, options);
  return withDeadline(loading, shortMs, options).catch((error: unknown) => {
    if (!(error instanceof DeadlineError) || !readable()) throw error;
    return withDeadline(loading, DEADLINE_MS - shortMs, options);
  });
}
