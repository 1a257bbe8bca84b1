import { DeadlineError, withDeadline, type DeadlineOptions } from '#waiting';

/** A first request of a merchant may take this long to learn its rules, where Redis answers. */
const DEADLINE_MS = 2000;
/** Of a take's time, how long Redis may be silent before the rule source is asked as well: ten milliseconds by the clock, in which a Redis that is well has answered many times. */
export const PART_BEFORE_RULE_SOURCE = 0.2;
/**
 * Of a take's time, what rules may take in all where Redis turns out to be frozen. A rule source that is well needs a small part of it; where the machine is starved and
 * it has to wait for a core too, a verdict somewhat later is better than none.
 */
const PART_OF_TAKE = 4;

/**
 * What is loaded, or a DeadlineError. Where Redis is away, a request waits for its rules no longer than others for a take. The first one, which finds it frozen,
 * waits for Redis as long as for a take, and for the rule source at the same time and not much longer.
 *
 * @param readable whether Redis can be asked, as far as is known at the time
 * @param takeMs how long a take may wait for Redis. Milliseconds of running time
 */
export function rulesInTime<T>(loading: Promise<T>, readable: () => boolean, takeMs: number, options: DeadlineOptions = {}): Promise<T> {
  if (!readable()) return withDeadline(loading, takeMs, options);
  const shortMs = PART_OF_TAKE * takeMs;
  if (shortMs >= DEADLINE_MS) return withDeadline(loading, DEADLINE_MS, options);
  return withDeadline(loading, shortMs, options).catch((error: unknown) => {
    if (!(error instanceof DeadlineError) || !readable()) throw error;
    return withDeadline(loading, DEADLINE_MS - shortMs, options);
  });
}
