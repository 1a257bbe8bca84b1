import { readFileSync } from 'node:fs';
import type { Decision, Limit, TokenBucketSpec } from '../src/index.js';

/** A step of a golden row; see the comment in test/golden/token-bucket.json. */
interface GoldenStep {
  at: number | string;
  takes?: number;
  cost?: number;
  every?: number;
  times?: number;
  allowed?: number;
  remaining?: number;
  retryAfterMs?: number | null;
  resetAfterMs?: number;
}

export interface GoldenRow {
  id: string;
  title: string;
  limit: Pick<TokenBucketSpec, 'capacity' | 'refillTokens' | 'refillIntervalMs'> & Partial<TokenBucketSpec> & { startsAt?: number | string };
  steps: GoldenStep[];
}

/** Whatever decides: the pure function, a store. One bucket for one row. */
export type GoldenEngine = (limit: Limit, cost: number, atMs: number) => Promise<Decision> | Decision;

export function goldenRows(name: 'token-bucket'): GoldenRow[] {
  const file = new URL(`../../../test/golden/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { rows: GoldenRow[] }).rows;
}

/** Runs every row against an engine of its own. */
export function describeGolden(name: 'token-bucket', engineFor: (row: GoldenRow) => Promise<GoldenEngine> | GoldenEngine): void {
  describe(`golden rows of ${name}`, () => {
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
        last = await engine(limit, step.cost ?? 1, atMs);
        if (last.allowed) allowed++;
      }
      const { at: _at, takes: _takes, cost: _cost, every: _every, times: _times, ...expected } = step;
      const actual = { ...last, allowed };
      expect({ atMs, ...pick(actual, Object.keys(expected)) }).toEqual({ atMs, ...expected });
    }
  }
}

export function goldenLimit(row: GoldenRow): Limit {
  const { startsAt = 0, ...numbers } = row.limit;
  const spec: TokenBucketSpec = { name: row.id, algorithm: 'token_bucket', refill: 'greedy', ...numbers };
  return { ...spec, id: 0, generation: 0, previous: [], start: { atMs: millis(startsAt), tokens: spec.initialTokens ?? spec.capacity } };
}

function millis(at: number | string): number {
  if (typeof at === 'number') return at;
  const [hours, minutes, seconds] = at.split(':').map(Number) as [number, number, number];
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function pick(from: object, keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, (from as Record<string, unknown>)[key]]));
}
