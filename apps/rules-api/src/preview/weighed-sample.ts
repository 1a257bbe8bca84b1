import type { MinuteCounts } from './minute-counts.js';
import type { RecordedRequest } from './recorded-request.js';
import type { SampleRow } from './sample.js';

/** Traffic that was made again from what was recorded of it. */
export interface WeighedSample {
  /** In the order of time. */
  readonly rows: readonly SampleRow[];
  readonly recorded: readonly RecordedRequest[];
  /** For how many requests a recorded one stands on average. */
  readonly weight: { readonly passed: number; readonly refused: number };
}

/** Between a request and its neighbours that are recorded; without one, so far. */
const LONE_MS = 30_000;

/**
 * Puts as many requests in place of each recorded one as it stands for, between those that were recorded before and after it, so that the newest of them are not more
 * than `mostRequests`. What stands for one only keeps its own time.
 * @param recorded in the order of time
 * @param nowMs behind which nothing is put
 */
export function weighedSample(
  recorded: readonly RecordedRequest[],
  counts: MinuteCounts,
  { mostRequests, nowMs }: { readonly mostRequests: number; readonly nowMs: number },
): WeighedSample {
  const refusals = recorded.filter(({ allowed, ruleIds }) => !allowed && ruleIds.length > 0);
  const missing = counts.missing(refusals.map(({ atMs, ruleIds }) => ({ atMs, rules: ruleIds.length })));
  const all = recorded.map((request) => ({ request, weight: request.oneIn * missing(request.atMs) }));
  const weighed = newest(all, mostRequests);
  const [passed, refused] = [true, false].map((allowed) => weighed.filter(({ request }) => request.allowed === allowed));
  const rows = [...rowsOf(passed!, counts, nowMs), ...rowsOf(refused!, counts, nowMs)].sort((a, b) => a.atMs - b.atMs);
  return { rows, recorded: weighed.map(({ request }) => request), weight: { passed: average(passed!), refused: average(refused!) } };
}

interface Weighed {
  readonly request: RecordedRequest;
  readonly weight: number;
}

function newest(all: readonly Weighed[], mostRequests: number): readonly Weighed[] {
  let [sum, first] = [0, all.length];
  while (first > 0 && sum + all[first - 1]!.weight <= mostRequests) sum += all[--first]!.weight;
  return all.slice(first);
}

function rowsOf(weighed: readonly Weighed[], counts: MinuteCounts, nowMs: number): SampleRow[] {
  let rest = 0;
  return weighed.flatMap(({ request, weight }, i) => {
    // What is left of a fraction counts with the next.
    const count = Math.floor(rest + weight + 1e-9);
    rest += weight - count;
    const { atMs } = request;
    const fromMs = (atMs + (weighed[i - 1]?.request.atMs ?? atMs - 2 * LONE_MS)) / 2;
    const next = weighed[i + 1]?.request.atMs;
    const untilMs = next === undefined ? Math.min(atMs + LONE_MS, nowMs) : (atMs + next) / 2;
    const moments = count === 1 ? [atMs] : counts.spread(count, fromMs, Math.max(untilMs, fromMs + 1));
    return moments.map((moment) => rowAt(request, Math.max(0, moment)));
  });
}

function rowAt({ method, path, ip, descriptor }: RecordedRequest, atMs: number): SampleRow {
  return { atMs, method, path, ip, cost: undefined, descriptor };
}

function average(weighed: readonly Weighed[]): number {
  const sum = weighed.reduce((all, { weight }) => all + weight, 0);
  return weighed.length === 0 ? 0 : Math.round((10 * sum) / weighed.length) / 10;
}
