import type { Bound } from '../bound.js';
import type { Arrival } from '../traffic/arrival.js';
import type { AlgorithmChoice } from './specs.js';
import { BucketMap } from './bucket-map.js';
import { PerfectLog } from './perfect-log.js';
import { stateBytes } from './state-size.js';

export interface AlgorithmFigures {
  readonly algorithm: string;
  readonly title: string;
  readonly offered: number;
  readonly admitted: number;
  /** What the perfect log admits of the same traffic. */
  readonly admittedByLog: number;
  /** Requests that passed here and not at the perfect log. */
  readonly overAdmitted: number;
  /** Requests that were refused here and not at the perfect log. */
  readonly underAdmitted: number;
  /** Tokens: the most that any key was given within any one window. */
  readonly worstWindow: number;
  /** Tokens: how far what the algorithm counts as used is from what was used in the last window; mean over all requests. */
  readonly meanError: number;
  /** Bytes of state of a key: see stateBytes. */
  readonly meanBytes: number;
  readonly mostBytes: number;
  /** Tokens that one key was given within the window before each of some instants. */
  readonly course: readonly CoursePoint[];
}

export interface CoursePoint {
  readonly atMs: number;
  readonly admitted: number;
  readonly admittedByLog: number;
}

/** A course is the beginning of a run: enough to see what an algorithm does, and not more than a chart can show. */
const COURSE_WINDOWS = 12;
const COURSE_POINTS = 360;
/** Measuring the state of a log is slow: every so many requests are enough for a mean. */
const SIZE_EVERY = 20;

/** Lets the arrivals, in the order of time, go through an algorithm and, beside it, through the perfect log. */
export function replay({ name, title, spec }: AlgorithmChoice, arrivals: readonly Arrival[], bound: Bound): AlgorithmFigures {
  const buckets = new BucketMap(spec(bound));
  const keys = new Map<string, KeyRecord>();
  const firstKey = arrivals[0]?.key;
  const courseMs = Math.min(arrivals.at(-1)?.atMs ?? 0, COURSE_WINDOWS * bound.windowMs);
  const course: CoursePoint[] = [];
  let [admitted, admittedByLog, overAdmitted, underAdmitted, worstWindow, errors, bytes, mostBytes, sizes] = [0, 0, 0, 0, 0, 0, 0, 0, 0];

  /** Notes how things stand at the instants of the course before `untilMs`, when nothing has happened yet at it. */
  const lookUntil = (untilMs: number): void => {
    for (; course.length <= COURSE_POINTS; look((course.length * courseMs) / COURSE_POINTS)) {
      if ((course.length * courseMs) / COURSE_POINTS >= untilMs) return;
    }
  };
  const look = (atMs: number): void => {
    const record = keys.get(firstKey!);
    if (record) passUntil(record, atMs);
    course.push({ atMs, admitted: record?.taken.used(atMs) ?? 0, admittedByLog: record?.log.used(atMs) ?? 0 });
  };
  /** What was admitted passes when its turn has come. */
  const passUntil = ({ taken, waiting }: KeyRecord, untilMs: number): void => {
    while (waiting.length > 0 && waiting[0]!.atMs <= untilMs) {
      const { cost, atMs } = waiting.shift()!;
      taken.add(cost, atMs);
      worstWindow = Math.max(worstWindow, taken.used(atMs));
    }
  };
  arrivals.forEach(({ key, cost, atMs }, index) => {
    lookUntil(atMs);
    const record = keys.get(key) ?? newRecord(bound);
    keys.set(key, record);
    const { allowed, limit, remaining, waitMs = 0 } = buckets.take(key, cost, atMs);
    const allowedByLog = record.log.take(cost, atMs);
    if (allowed) {
      admitted++;
      record.waiting.push({ cost, atMs: atMs + waitMs });
    }
    passUntil(record, atMs);
    if (allowedByLog) admittedByLog++;
    if (allowed && !allowedByLog) overAdmitted++;
    if (!allowed && allowedByLog) underAdmitted++;
    const used = record.taken.used(atMs);
    errors += Math.abs(limit - remaining - used);
    if (index % SIZE_EVERY === 0 || index === arrivals.length - 1) {
      const size = stateBytes(buckets.stateOf(key));
      sizes++;
      bytes += size;
      mostBytes = Math.max(mostBytes, size);
    }
  });
  lookUntil(Infinity);
  for (const record of keys.values()) passUntil(record, Infinity);
  return {
    algorithm: name,
    title,
    offered: arrivals.length,
    admitted,
    admittedByLog,
    overAdmitted,
    underAdmitted,
    worstWindow,
    meanError: errors / Math.max(1, arrivals.length),
    meanBytes: bytes / Math.max(1, sizes),
    mostBytes,
    course,
  };
}

/** What really happened to one key: what the algorithm gave it, and what the perfect log would have. */
interface KeyRecord {
  readonly taken: PerfectLog;
  /** What was admitted and has not passed yet, in order: nobody overtakes. */
  readonly waiting: { readonly cost: number; readonly atMs: number }[];
  readonly log: PerfectLog;
}

const newRecord = (bound: Bound): KeyRecord => ({ taken: new PerfectLog(bound), waiting: [], log: new PerfectLog(bound) });
