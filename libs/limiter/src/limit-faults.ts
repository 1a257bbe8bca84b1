import { isTimeZone } from './algorithms/calendar.js';
import { greatestCommonDivisor, rateOf, spanOf, type Rate } from './algorithms/exact-span.js';
import {
  ALIGNS,
  CALENDAR_UNITS,
  capacityOf,
  excessOf,
  LIMIT_BOUNDS,
  ON_EDITS,
  REFILLS,
  THROTTLES,
  WINDOW_STARTS,
  type AlgorithmName,
  type CalendarUnit,
  type FixedWindowSpec,
  type LimitFault,
  type LimitField,
  type LimitSpec,
  type SlidingCounterSpec,
  type TokenBucketSpec,
} from './limit.js';

/** Largest denominator for which sums of spans stay exact in a double. */
const MAX_DENOMINATOR = 94_906_265;

/** What a value should have been, and the value next to it that is. */
interface Misfit {
  readonly expected: string;
  readonly nearest?: number;
}

/** Says what is wrong with the value of a field, or nothing. */
type FieldRule = (value: unknown) => Misfit | undefined;

/** The fields of each algorithm, and what each must be. A field that is not listed is not one of the algorithm's. */
const FIELDS: Record<AlgorithmName, Partial<Record<LimitField, FieldRule>>> = {
  token_bucket: {
    capacity: whole('capacity'),
    refillTokens: whole('refillTokens'),
    refillIntervalMs: whole('refillIntervalMs'),
    refill: oneOf(REFILLS),
    align: optional(oneOf(ALIGNS)),
    calendar: optional(oneOf(CALENDAR_UNITS)),
    timeZone: optional(timeZone),
    initialTokens: optional(whole('initialTokens')),
  },
  gcra: { capacity: whole('capacity'), refillTokens: whole('refillTokens'), refillIntervalMs: whole('refillIntervalMs') },
  leaky_bucket: {
    capacity: whole('capacity'),
    drainTokens: whole('drainTokens'),
    drainIntervalMs: whole('drainIntervalMs'),
    onLimit: optional(delay),
  },
  fixed_window: {
    limit: whole('limit'),
    windowMs: optional(whole('windowMs')),
    calendar: optional(oneOf(CALENDAR_UNITS)),
    timeZone: optional(timeZone),
    start: oneOf(WINDOW_STARTS),
  },
  sliding_log: {
    limit: wholeNumber(
      LIMIT_BOUNDS.logLimit.min,
      LIMIT_BOUNDS.logLimit.max,
      ', because a log keeps every request (sliding_counter has no such bound)',
    ),
    windowMs: whole('windowMs'),
  },
  sliding_counter: { limit: whole('limit'), windowMs: whole('windowMs'), parts: whole('parts') },
  concurrency: {
    limit: wholeNumber(LIMIT_BOUNDS.slots.min, LIMIT_BOUNDS.slots.max, ', because every slot is kept'),
    slotTimeoutMs: whole('slotTimeoutMs'),
  },
};

export const ALGORITHM_NAMES = Object.keys(FIELDS) as readonly AlgorithmName[];

/** The fields that a limit of an algorithm may have, besides `name`, `algorithm` and `onEdit`. */
export function fieldsOf(algorithm: AlgorithmName): readonly LimitField[] {
  return Object.keys(FIELDS[algorithm]) as LimitField[];
}

/** Every reason why these numbers make no bucket; empty when they do. The argument may be anything that calls itself a limit. */
export function limitFaults(spec: LimitSpec): LimitFault[] {
  const { maxLength, pattern } = LIMIT_BOUNDS.name;
  const faults: LimitFault[] = [];
  const add = (field: LimitField, misfit: Misfit | undefined): void => {
    if (misfit !== undefined) faults.push(fault(field, misfit.expected, spec[field as 'name'], misfit.nearest));
  };
  if (typeof spec.name !== 'string' || spec.name.length > maxLength || !pattern.test(spec.name)) {
    add('name', { expected: `must be 1 to ${maxLength} letters, digits, spaces, '.', '_' or '-'` });
  }
  add('onEdit', optional(oneOf(ON_EDITS))(spec.onEdit));
  add('throttle', optional(oneOf(THROTTLES))(spec.throttle));
  if (spec.throttle === 'soft') add('excessPercent', whole('excessPercent')(spec.excessPercent));
  else if (spec.excessPercent !== undefined) add('excessPercent', { expected: "goes with throttle 'soft' only" });
  if (!ALGORITHM_NAMES.includes(spec.algorithm)) {
    add('algorithm', { expected: `must be one of ${ALGORITHM_NAMES.join(', ')}` });
    return faults;
  }
  if (spec.throttle === 'elastic' && 'onLimit' in spec && spec.onLimit !== undefined) {
    add('throttle', { expected: "must be 'hard' or 'soft' for a queue: what is over its limit would overtake those that wait" });
  }
  for (const [field, rule] of Object.entries(FIELDS[spec.algorithm])) {
    const isReplaced =
      field === 'refillIntervalMs' &&
      spec.algorithm === 'token_bucket' &&
      spec.calendar !== undefined &&
      spec.refillIntervalMs === undefined;
    if (!isReplaced) add(field as LimitField, rule(spec[field as 'name']));
  }
  return faults.length > 0 ? faults : jointFaults(spec);
}

/** Numbers that are fine one by one and impossible together. */
function jointFaults(spec: LimitSpec): LimitFault[] {
  switch (spec.algorithm) {
    case 'token_bucket':
      return tokenBucketFaults(spec);
    case 'gcra':
      return rateFaults(spec, 'refillTokens', spec.refillTokens, spec.refillIntervalMs);
    case 'leaky_bucket':
      return rateFaults(spec, 'drainTokens', spec.drainTokens, spec.drainIntervalMs);
    case 'fixed_window':
      return fixedWindowFaults(spec);
    case 'sliding_counter':
      return partFaults(spec);
    case 'sliding_log':
    case 'concurrency':
      return [];
  }
}

function tokenBucketFaults(spec: TokenBucketSpec): LimitFault[] {
  const { refill, refillTokens, refillIntervalMs, calendar, timeZone, initialTokens } = spec;
  const faults: LimitFault[] = [];
  const refuse = (field: 'align' | 'calendar' | 'timeZone' | 'refillIntervalMs', expected: string): void => {
    if (spec[field] !== undefined) faults.push(fault(field, expected, spec[field]));
  };
  if (refill === 'greedy') {
    for (const field of ['align', 'calendar', 'timeZone'] as const) refuse(field, "goes with refill 'interval' only");
  } else if (calendar !== undefined) {
    refuse('refillIntervalMs', 'must not be given with a calendar, which says when steps are');
    refuse('align', 'must not be given with a calendar, which says when steps are');
  } else if (timeZone !== undefined) {
    refuse('timeZone', 'goes with a calendar only');
  }
  if (faults.length > 0) return faults;
  return calendar === undefined
    ? rateFaults(spec, 'refillTokens', refillTokens, refillIntervalMs!, initialTokens)
    : calendarFaults(spec, calendar);
}

function calendarFaults(spec: TokenBucketSpec, calendar: CalendarUnit): LimitFault[] {
  const { capacity, refillTokens, initialTokens = 0 } = spec;
  if (capacity === 0 && initialTokens > 0) return [surplusOfNothing(initialTokens)];
  const { max, maxOfYears } = LIMIT_BOUNDS.calendarSteps;
  const steps = calendar === 'year' ? maxOfYears : max;
  const most = steps * refillTokens;
  if (capacity + excessOf(spec) <= most) return [];
  // With its excess the capacity grows by one or two for each token, so the division finds it or the one below it.
  let nearest = Math.floor((most * 100) / (100 + (spec.throttle === 'soft' ? spec.excessPercent! : 0)));
  while (nearest + 1 + excessOf({ ...spec, capacity: nearest + 1 }) <= most) nearest++;
  const counted = spec.throttle === 'soft' ? ', counting the excess of a soft limit' : '';
  return [fault('capacity', `must be filled within ${steps} steps of the calendar${counted}`, capacity, nearest)];
}

function surplusOfNothing(initialTokens: number): LimitFault {
  return fault('initialTokens', 'must be 0 where the capacity is 0, which lets nothing pass', initialTokens, 0);
}

function rateFaults(spec: LimitSpec, field: LimitField, tokens: number, intervalMs: number, initialTokens = 0): LimitFault[] {
  const most = (LIMIT_BOUNDS.tokensPerSecond.max / 1000) * intervalMs;
  if (tokens > most) {
    return [fault(field, `must be at most ${most} for an interval of ${intervalMs} ms (1000000 tokens a second)`, tokens, most)];
  }
  const rate = rateOf(tokens, intervalMs);
  if (rate.n > MAX_DENOMINATOR) {
    return [
      fault(
        field,
        `must be at most ${MAX_DENOMINATOR} or share a factor with the interval`,
        tokens,
        nearestExact(tokens, intervalMs, most),
      ),
    ];
  }
  const capacity = capacityOf(spec);
  if (capacity === 0 && initialTokens > 0) {
    return [surplusOfNothing(initialTokens)];
  }
  const longest = Math.max(capacity, initialTokens);
  if (spanOf(longest, rate).whole > LIMIT_BOUNDS.timeToFullMs.max * 1000) {
    return [
      fault(
        longest === capacity ? 'capacity' : 'initialTokens',
        'must be filled within ten years at this rate',
        longest,
        mostWithin(LIMIT_BOUNDS.timeToFullMs.max, rate),
      ),
    ];
  }
  return [];
}

/** The most tokens that come back in a time, not counting a fraction of a microsecond; the products leave the whole numbers of a double. */
function mostWithin(timeMs: number, { n, intervalUs }: Rate): number {
  const endUs = BigInt(timeMs) * 1000n + 1n;
  return Number((endUs * BigInt(n) - 1n) / BigInt(intervalUs));
}

/** The next number of tokens whose spans stay exact: a thousand away at most, because intervals are whole milliseconds. */
function nearestExact(tokens: number, intervalMs: number, most: number): number {
  const isExact = (each: number): boolean =>
    each <= Math.min(most, LIMIT_BOUNDS.refillTokens.max) && rateOf(each, intervalMs).n <= MAX_DENOMINATOR;
  for (let away = 1; ; away++) {
    if (isExact(tokens - away)) return tokens - away;
    if (isExact(tokens + away)) return tokens + away;
  }
}

function fixedWindowFaults({ windowMs, calendar, timeZone, start }: FixedWindowSpec): LimitFault[] {
  if ((windowMs === undefined) === (calendar === undefined)) {
    return [{ field: 'windowMs', detail: 'must be given, or calendar instead of it, but not both' }];
  }
  if (calendar !== undefined && start === 'first_request') {
    return [fault('start', "must be 'clock' with a calendar", start)];
  }
  if (calendar === undefined && timeZone !== undefined) {
    return [fault('timeZone', 'goes with a calendar only', timeZone)];
  }
  return [];
}

function partFaults({ windowMs, parts }: SlidingCounterSpec): LimitFault[] {
  if ((windowMs * 1000) % parts === 0) return [];
  const stepMs = parts / greatestCommonDivisor(parts, 1000);
  const steps = Math.min(Math.max(1, Math.round(windowMs / stepMs)), Math.floor(LIMIT_BOUNDS.windowMs.max / stepMs));
  const nearest = steps * stepMs;
  return [fault('windowMs', `must be whole microseconds when divided into ${parts} parts`, windowMs, nearest)];
}

function fault(field: LimitField, expected: string, value: unknown, nearest?: number): LimitFault {
  const detail = `${expected}, got ${JSON.stringify(value)}`;
  return nearest === undefined ? { field, detail } : { field, detail: `${detail}; the nearest is ${nearest}`, nearest };
}

function whole(
  field: Exclude<keyof typeof LIMIT_BOUNDS, 'name' | 'tokensPerSecond' | 'timeToFullMs' | 'calendarSteps' | 'logLimit' | 'slots'>,
): FieldRule {
  const { min, max } = LIMIT_BOUNDS[field];
  return wholeNumber(min, max);
}

function wholeNumber(min: number, max: number, because = ''): FieldRule {
  return (value) => {
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return undefined;
    const expected = `must be a whole number from ${min} to ${max}${because}`;
    if (typeof value !== 'number' || Number.isNaN(value)) return { expected };
    return { expected, nearest: Math.min(max, Math.max(min, Math.round(value))) };
  };
}

function delay(value: unknown): Misfit | undefined {
  const { min, max } = LIMIT_BOUNDS.maxWaitMs;
  const wait = (value as { delay?: { maxWaitMs?: unknown } } | null)?.delay;
  const onlyThat = (object: unknown, field: string): boolean =>
    typeof object === 'object' && object !== null && Object.keys(object).join() === field;
  const fits = onlyThat(value, 'delay') && onlyThat(wait, 'maxWaitMs') && whole('maxWaitMs')(wait?.maxWaitMs) === undefined;
  return fits ? undefined : { expected: `must be { "delay": { "maxWaitMs": n } } with a whole number from ${min} to ${max}` };
}

function timeZone(value: unknown): Misfit | undefined {
  return isTimeZone(value) ? undefined : { expected: 'must be an IANA time zone like Europe/Berlin' };
}

function oneOf(names: readonly string[]): FieldRule {
  const wanted = names.map((name) => `'${name}'`);
  const list = wanted.length === 2 ? wanted.join(' or ') : `one of ${wanted.join(', ')}`;
  return (value) => (names.includes(value as string) ? undefined : { expected: `must be ${list}` });
}

function optional(rule: FieldRule): FieldRule {
  return (value) => (value === undefined ? undefined : rule(value));
}
