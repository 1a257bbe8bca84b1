import { CsvError, parse } from 'csv-parse/sync';
import { wholeUs, type Arrival } from './arrival.js';

/** Rows that a file may have: a run keeps all of them in memory. */
const MAX_CSV_ROWS = 2_000_000;
const MAX_LINE_BYTES = 4096;
const MAX_KEY_LENGTH = 256;
const MAX_COST = 1_000_000_000;
/** Faults that are named before we stop looking: one wrong column must not fill the screen. */
const MAX_FAULTS = 10;

/** Thrown for a file that is no traffic. Names line and field of each fault, up to ten. */
export class CsvTrafficError extends Error {
  override readonly name = 'CsvTrafficError';
}

/** A row as the parser gives it: fields by the names of the heading, and where they stood. */
interface Row {
  readonly record: Record<string, string>;
  readonly info: { readonly lines: number };
}

/**
 * Arrivals from CSV (RFC 4180) with a heading: `timestamp` (milliseconds, or ISO 8601 with a zone), and, if wanted, `key`
 * (`all` if there is none) and `cost` (a whole number, 1 if there is none). Times count from the first row, rows need not be
 * in order. Throws CsvTrafficError.
 */
export function arrivalsFromCsv(text: string): Arrival[] {
  const faults: string[] = [];
  const arrivals: Arrival[] = [];
  for (const { record, info } of rowsOf(text)) {
    if (faults.length >= MAX_FAULTS) break;
    const fault = (field: string, detail: string): number => faults.push(`line ${info.lines}, ${field}: ${detail}`);
    const { timestamp = '', key = 'all', cost = '1' } = record;
    const atMs = timeOf(timestamp);
    if (atMs === undefined)
      fault('timestamp', `must be milliseconds or ISO 8601 with a zone, such as 2026-01-31T12:00:00.250Z; got ${quoted(timestamp)}`);
    if (key === '' || key.length > MAX_KEY_LENGTH) fault('key', `must have 1 to ${MAX_KEY_LENGTH} characters; got ${key.length}`);
    const tokens = /^\d{1,10}$/.test(cost) ? Number(cost) : Number.NaN;
    if (!(tokens >= 1 && tokens <= MAX_COST)) fault('cost', `must be a whole number from 1 to ${MAX_COST}; got ${quoted(cost)}`);
    arrivals.push({ atMs: atMs ?? 0, key, cost: tokens });
  }
  if (faults.length > 0) throw new CsvTrafficError(faults.slice(0, MAX_FAULTS).join('\n'));
  if (arrivals.length === 0) throw new CsvTrafficError('line 2: there is no row under the heading');
  // A sort that keeps the order of rows of the same time.
  arrivals.sort((a, b) => a.atMs - b.atMs);
  const startMs = arrivals[0]!.atMs;
  return arrivals.map((arrival) => ({ ...arrival, atMs: wholeUs(arrival.atMs - startMs) }));
}

function rowsOf(text: string): readonly Row[] {
  try {
    return parse(text, {
      bom: true,
      columns: headings,
      info: true,
      skip_empty_lines: true,
      trim: true,
      max_record_size: MAX_LINE_BYTES,
      // One more than allowed shows that there are more.
      to: MAX_CSV_ROWS + 1,
      on_record: (row: Row, { records }: { records: number }) => {
        if (records > MAX_CSV_ROWS) throw new CsvTrafficError(`line ${row.info.lines}: more than ${MAX_CSV_ROWS} rows`);
        return row;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw new CsvTrafficError(`line ${(error['lines'] as number | undefined) ?? '?'}: ${error.message}`);
    throw error;
  }
}

const FIELDS = ['timestamp', 'key', 'cost'];

function headings(first: string[]): string[] {
  const names = first.map((name) => name.trim().toLowerCase());
  const unknown = names.filter((name) => !FIELDS.includes(name));
  if (unknown.length > 0) throw new CsvTrafficError(`line 1, ${quoted(unknown[0]!)}: unknown field; there are ${FIELDS.join(', ')}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new CsvTrafficError(`line 1, ${twice}: stands there twice`);
  if (!names.includes('timestamp')) throw new CsvTrafficError('line 1, timestamp: is missing');
  return names;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds, or undefined for what is no time. A time without a zone would mean another one on every machine. */
function timeOf(words: string): number | undefined {
  if (/^\d{1,15}(\.\d{1,6})?$/.test(words)) return Number(words);
  if (!ISO.test(words)) return undefined;
  const atMs = Date.parse(words);
  return Number.isNaN(atMs) ? undefined : atMs;
}

const quoted = (words: string): string => JSON.stringify(words.length > 40 ? `${words.slice(0, 40)}...` : words);
