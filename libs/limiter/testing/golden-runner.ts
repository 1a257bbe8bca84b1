import { readFileSync } from 'node:fs';
import { startLimits, type Decision, type Limit, type LimitSpec } from '../src/index.js';

/** A step of a golden row; see the comment in test/golden/token-bucket.json. */
interface GoldenStep {
  at: number | string;
  takes?: number;
  cost?: number;
  /** Whether the platform has spare capacity; it has none unless told. */
  spare?: boolean;
  /** Whether the request is one of those for which the row keeps something. */
  kept?: boolean;
  every?: number;
  times?: number;
  allowed?: number;
  remaining?: number;
  retryAfterMs?: number | null;
  resetAfterMs?: number;
  nextStepMs?: number;
  limit?: number;
  waitMs?: number;
  overLimit?: boolean;
  withheld?: number;
}

export interface GoldenRow {
  id: string;
  title: string;
  /** The numbers of a limit, without those of the file's defaults; `startsAt`: when it was written. */
  limit: Partial<LimitSpec> & { startsAt?: number | string };
  /** What of the bucket is kept for some requests, in percent. */
  reserve?: number;
  steps: GoldenStep[];
}

/** Whatever decides: the pure function, a store. One bucket for one row. `percent`: what the request has to leave to others. */
export type GoldenEngine = (limit: Limit, cost: number, atMs: number, spare: boolean, percent: number) => Promise<Decision> | Decision;

export const GOLDEN = ['token-bucket', 'gcra', 'leaky-bucket', 'fixed-window', 'sliding-log', 'sliding-counter', 'concurrency'] as const;
export type GoldenFile = (typeof GOLDEN)[number];

export function goldenRows(name: GoldenFile): GoldenRow[] {
  const file = new URL(`../../../test/golden/${name}.json`, import.meta.url);
  const { defaults, rows } = JSON.parse(readFileSync(file, 'utf8')) as { defaults: object; rows: GoldenRow[] };
  return rows.map((row) => ({ ...row, limit: { ...defaults, ...row.limit } }));
}

/** Runs every row of every file against an engine of its own. */
export function describeGolden(engineFor: (row: GoldenRow) => Promise<GoldenEngine> | GoldenEngine): void {
  describe.each(GOLDEN)('golden rows of %s', (name) => {
    test.each(goldenRows(name).map((row) => [row.id, row.title, row] as const))('%s: %s', async (_id, _title, row) => {
      await runGolden(row, await engineFor(row));
    });
  });
}

async function runGolden(row: GoldenRow, engine: GoldenEngine): Promise<void> {
  const limit = goldenLimit(row);
  for (const step of row.steps) {
    for (let repeat = 0; repeat < (step.times ?? 1); repeat++) {
      const atMs = millis(step.at) + repeat * (step.every ?? 0);
      let allowed = 0;
      let last: Decision | undefined;
      for (let i = 0; i < (step.takes ?? 1); i++) {
        last = await engine(limit, step.cost ?? 1, atMs, step.spare ?? false, step.kept ? 0 : (row.reserve ?? 0));
        if (last.allowed) allowed++;
      }
      const { at: _at, takes: _takes, cost: _cost, spare: _spare, every: _every, times: _times, kept: _kept, ...expected } = step;
      // JSON says null for never.
      const actual = { ...last, retryAfterMs: last!.retryAfterMs === 'never' ? null : last!.retryAfterMs, allowed };
      expect({ atMs, ...pick(actual, Object.keys(expected)) }).toEqual({ atMs, ...expected });
    }
  }
}

export function goldenLimit({ id, limit: { startsAt = 0, ...spec } }: GoldenRow): Limit {
  return startLimits([{ name: id, ...spec } as LimitSpec], millis(startsAt))[0]!;
}

/** Milliseconds, a date, or a time of the first day such as 07:10:23.5. */
function millis(at: number | string): number {
  if (typeof at === 'number') return at;
  if (at.includes('T')) return Date.parse(at);
  const [hours, minutes, seconds] = at.split(':').map(Number) as [number, number, number];
  return Math.round(((hours * 60 + minutes) * 60 + seconds) * 1000);
}

function pick(from: object, keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, (from as Record<string, unknown>)[key]]));
}
