import { MINUTE_MS, type UsageStep } from '../buckets/live-reports.js';

/** Over so many minutes refusals are compared with their receipts: gateways tell both some seconds late, and not at once. */
const SPAN_MINUTES = 5;
/** A difference that counts cannot explain by being late. */
const MOST_RATIO = 1.5;

/** What gateways have counted in each minute: more than they have recorded, and nothing but numbers. */
export class MinuteCounts {
  private readonly minutes = new Map<number, number>();
  private readonly refused = new Map<number, number>();

  constructor(steps: readonly UsageStep[]) {
    for (const { atMs, passed, refused } of steps) {
      const minute = Math.floor(atMs / MINUTE_MS);
      add(this.minutes, minute, passed + refused);
      add(this.refused, Math.floor(minute / SPAN_MINUTES), refused);
    }
  }

  /** By how much more was refused than is recorded, since there is room for so many receipts only. @param recorded refusals by rules, at which time */
  missing(recorded: readonly { readonly atMs: number; readonly rules: number }[]): (atMs: number) => number {
    const known = new Map<number, number>();
    for (const { atMs, rules } of recorded) add(known, spanOf(atMs), rules);
    return (atMs) => {
      const span = spanOf(atMs);
      const ratio = (this.refused.get(span) ?? 0) / (known.get(span) ?? Infinity);
      return ratio > MOST_RATIO ? ratio : 1;
    };
  }

  /** So many moments between two, evenly, and none in a minute without a request. */
  spread(count: number, fromMs: number, untilMs: number): number[] {
    const parts = this.partsOf(fromMs, untilMs);
    const total = parts.reduce((sum, { weight }) => sum + weight, 0);
    const moments: number[] = [];
    let [before, at] = [0, 0];
    for (let i = 0; i < count; i++) {
      const wanted = ((i + 0.5) / count) * total;
      while (before + parts[at]!.weight < wanted && at < parts.length - 1) before += parts[at++]!.weight;
      const { startMs, lengthMs, weight } = parts[at]!;
      moments.push(Math.floor(startMs + (lengthMs * (wanted - before)) / weight));
    }
    return moments;
  }

  private partsOf(fromMs: number, untilMs: number): Part[] {
    const parts: Part[] = [];
    for (let startMs = fromMs; startMs < untilMs;) {
      const minute = Math.floor(startMs / MINUTE_MS);
      const lengthMs = Math.min(untilMs, (minute + 1) * MINUTE_MS) - startMs;
      const weight = ((this.minutes.get(minute) ?? 0) * lengthMs) / MINUTE_MS;
      if (weight > 0) parts.push({ startMs, lengthMs, weight });
      startMs += lengthMs;
    }
    return parts.length > 0 ? parts : [{ startMs: fromMs, lengthMs: untilMs - fromMs, weight: 1 }];
  }
}

interface Part {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly weight: number;
}

function spanOf(atMs: number): number {
  return Math.floor(atMs / (SPAN_MINUTES * MINUTE_MS));
}

function add(counts: Map<number, number>, at: number, count: number): void {
  counts.set(at, (counts.get(at) ?? 0) + count);
}
