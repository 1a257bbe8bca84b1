import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { arrivalsFromCsv, CsvTrafficError, traffic, type Arrival, type Bound, type PatternName } from '#simulation';
import { notStarted } from '../shared/command-error.js';
import { count } from '../shared/output.js';

const MAX_CSV_MIB = 256;

export interface TrafficOptions {
  readonly pattern: PatternName;
  /** A file, instead of a pattern. */
  readonly csv?: string | undefined;
  readonly seed: number;
  readonly seconds: number;
  readonly keys: number;
  /** Requests for each that is allowed, on average. */
  readonly load: number;
  readonly bound: Bound;
}

/** The traffic of a run, from a file or a pattern. `seconds` may be other than the options say. */
export function arrivalsOf({ csv, pattern, seed, keys, load, bound, ...options }: TrafficOptions, seconds = options.seconds): Arrival[] {
  if (csv !== undefined) return fromCsv(csv);
  const arrivals = [
    ...traffic(pattern, {
      seed,
      seconds,
      ratePerSecond: (load * bound.limit * 1000) / bound.windowMs,
      keys: Array.from({ length: keys }, (_, index) => `merchant-${index + 1}`),
      ...bound,
    }),
  ];
  if (arrivals.length > 0) return arrivals;
  throw notStarted('No request falls into this time: give more --seconds, --load or --keys, or a shorter window.');
}

function fromCsv(file: string): Arrival[] {
  const stat = statSync(file);
  if (!stat.isFile()) throw notStarted(`${file} is no file.`);
  if (stat.size > MAX_CSV_MIB * 1024 * 1024) throw notStarted(`${file} is larger than ${MAX_CSV_MIB} MiB.`);
  try {
    return arrivalsFromCsv(readFileSync(file, 'utf8'));
  } catch (error) {
    throw error instanceof CsvTrafficError ? notStarted(`${file}:\n${error.message}`) : error;
  }
}

/** What is said of the traffic under every chart. */
export function describeTraffic({ csv, pattern, seed, bound }: TrafficOptions, arrivals: readonly Arrival[]): string {
  const seconds = Math.ceil((arrivals.at(-1)?.atMs ?? 0) / 1000);
  const from = csv === undefined ? `${pattern} traffic, seed ${seed}` : basename(csv);
  return `${from}: ${count(arrivals.length)} requests in ${count(seconds)} s; ${count(bound.limit)} in ${count(bound.windowMs)} ms for each key`;
}

/** The options as a run's JSON shows them: not on whose machine it was. */
export function withoutPlace({ csv: _csv, ...options }: TrafficOptions): Omit<TrafficOptions, 'csv'> {
  return options;
}
