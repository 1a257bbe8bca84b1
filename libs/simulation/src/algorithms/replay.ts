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
export function replay(choice: AlgorithmChoice, arrivals: readonly Arrival[], bound: Bound): AlgorithmFigures {
  const courseMs = Math.min(arrivals.at(-1)?.atMs ?? 0, COURSE_WINDOWS * bound.windowMs);
  const run = new Replay(choice, bound, arrivals[0]?.key, courseMs);
  arrivals.forEach((arrival, index) => run.arrive(arrival, index % SIZE_EVERY === 0 || index === arrivals.length - 1));
  return run.end();
}

/** What has happened so far in one run. */
class Replay {
  private readonly buckets: BucketMap;
  private readonly keys = new Map<string, KeyRecord>();
  private readonly course: CoursePoint[] = [];
  private readonly counts = { offered: 0, admitted: 0, admittedByLog: 0, overAdmitted: 0, underAdmitted: 0 };
  private worstWindow = 0;
  private errors = 0;
  private sizes = 0;
  private bytes = 0;
  private mostBytes = 0;

  constructor(
    private readonly choice: AlgorithmChoice,
    private readonly bound: Bound,
    /** Whose course is shown. */
    private readonly shownKey: string | undefined,
    private readonly courseMs: number,
  ) {
    this.buckets = new BucketMap(choice.spec(bound));
  }

  /** @param isMeasured whether to measure the state that it leaves */
  arrive({ key, cost, atMs }: Arrival, isMeasured: boolean): void {
    const { counts } = this;
    this.lookUntil(atMs);
    const record = this.keys.get(key) ?? newRecord(this.bound);
    this.keys.set(key, record);
    const { allowed, limit, remaining, waitMs = 0 } = this.buckets.take(key, cost, atMs);
    const allowedByLog = record.log.take(cost, atMs);
    counts.offered++;
    if (allowed) {
      counts.admitted++;
      record.waiting.push({ cost, atMs: atMs + waitMs });
    }
    this.passUntil(record, atMs);
    if (allowedByLog) counts.admittedByLog++;
    if (allowed && !allowedByLog) counts.overAdmitted++;
    if (!allowed && allowedByLog) counts.underAdmitted++;
    this.errors += Math.abs(limit - remaining - record.taken.used(atMs));
    if (isMeasured) this.measure(key);
  }

  end(): AlgorithmFigures {
    this.lookUntil(Infinity);
    for (const record of this.keys.values()) this.passUntil(record, Infinity);
    return {
      algorithm: this.choice.name,
      title: this.choice.title,
      ...this.counts,
      worstWindow: this.worstWindow,
      meanError: this.errors / Math.max(1, this.counts.offered),
      meanBytes: this.bytes / Math.max(1, this.sizes),
      mostBytes: this.mostBytes,
      course: this.course,
    };
  }

  /** Notes how things stand at the instants of the course before `untilMs`, when nothing has happened yet at it. */
  private lookUntil(untilMs: number): void {
    const nextMs = () => (this.course.length * this.courseMs) / COURSE_POINTS;
    while (this.course.length <= COURSE_POINTS && nextMs() < untilMs) this.look(nextMs());
  }

  private look(atMs: number): void {
    const record = this.keys.get(this.shownKey!);
    if (record) this.passUntil(record, atMs);
    this.course.push({ atMs, admitted: record?.taken.used(atMs) ?? 0, admittedByLog: record?.log.used(atMs) ?? 0 });
  }

  /** What was admitted passes when its turn has come. */
  private passUntil({ taken, waiting }: KeyRecord, untilMs: number): void {
    while (waiting.length > 0 && waiting[0]!.atMs <= untilMs) {
      const { cost, atMs } = waiting.shift()!;
      taken.add(cost, atMs);
      this.worstWindow = Math.max(this.worstWindow, taken.used(atMs));
    }
  }

  private measure(key: string): void {
    const size = stateBytes(this.buckets.stateOf(key));
    this.sizes++;
    this.bytes += size;
    this.mostBytes = Math.max(this.mostBytes, size);
  }
}

/** What really happened to one key: what the algorithm gave it, and what the perfect log would have. */
interface KeyRecord {
  readonly taken: PerfectLog;
  /** What was admitted and has not passed yet, in order: nobody overtakes. */
  readonly waiting: { readonly cost: number; readonly atMs: number }[];
  readonly log: PerfectLog;
}

const newRecord = (bound: Bound): KeyRecord => ({ taken: new PerfectLog(bound), waiting: [], log: new PerfectLog(bound) });
