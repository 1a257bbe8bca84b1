import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isIP } from 'node:net';
import { CsvError, parse } from 'csv-parse';
import { canonicalAddress } from '#addresses';
import { type Descriptor, type Fault, shown } from '#limiter';
import { EXPLAIN_FIELDS } from '../explain/explain-fields.js';
import { badBody } from '../http/validation.pipe.js';

/** One request of a sample. */
export interface SampleRow {
  /** Since 1970. */
  readonly atMs: number;
  readonly method: string;
  /** Without a query. */
  readonly path: string;
  /** In one spelling; nothing if the sample does not say. */
  readonly ip: string | undefined;
  /** Tokens, instead of what rules say. */
  readonly cost: number | undefined;
  /** The request as rules look at it, where more is known of it than stands above. */
  readonly descriptor?: Omit<Descriptor, 'merchantId'>;
}

/** All of them are in memory at once. */
const MAX_SAMPLE_ROWS = 100_000;
const MAX_LINE_BYTES = 16_384;
const MAX_COST = 1_000_000_000;
/** The last instant whose microseconds a clock can count. */
const LAST_MS = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** Faults that are named before we stop looking. */
const MAX_FAULTS = 20;
/** So much text is parsed before other requests have their turn. */
const PIECE_LENGTH = 8_192;

/** In place of a CSV: what gateways have recorded. */
export const RECORDED = 'recorded';

const COLUMNS = ['at', 'method', 'path', 'ip', 'cost'];
const REQUIRED = ['at', 'method', 'path'];

interface Record {
  readonly record: Readonly<{ [column: string]: string }>;
  readonly info: { readonly lines: number };
}

/** The requests of a CSV in the order of time; those of one instant in the order of lines. @throws ProblemError 400 that names lines and columns */
export async function readSample(text: string, maxRows = MAX_SAMPLE_ROWS): Promise<SampleRow[]> {
  const faults: Fault[] = [];
  const rows: SampleRow[] = [];
  try {
    for await (const { record, info } of records(text)) {
      if (rows.length >= maxRows) throw badSample('preview.sample.too_many_rows', `must have at most ${maxRows} rows`);
      rows.push(rowOf(record, (column, detail) => faults.push(faultAt(`line ${info.lines}, ${column}: ${detail}`))));
      if (faults.length >= MAX_FAULTS) break;
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw badSample('preview.sample.malformed', `line ${(error['lines'] as number | undefined) ?? '?'}: ${error.message}`);
    throw error;
  }
  if (faults.length > 0) throw badBody(faults.slice(0, MAX_FAULTS));
  if (rows.length === 0) throw badSample('preview.sample.malformed', 'must have a row below its heading');
  return rows.sort((a, b) => a.atMs - b.atMs);
}

function records(text: string): AsyncIterable<Record> {
  const parser = parse({ bom: true, columns: heading, info: true, skip_empty_lines: true, trim: true, max_record_size: MAX_LINE_BYTES });
  return Readable.from(pieces(text)).pipe(parser);
}

async function* pieces(text: string): AsyncGenerator<string> {
  for (let start = 0; start < text.length; start += PIECE_LENGTH) {
    yield text.slice(start, start + PIECE_LENGTH);
    await nextTurn();
  }
}

function heading(first: string[]): string[] {
  const names = first.map((name) => name.trim().toLowerCase());
  const unknown = names.find((name) => !COLUMNS.includes(name));
  if (unknown !== undefined)
    throw badSample('preview.sample.malformed', `line 1: ${shown(unknown)} is no column that is known here; ${COLUMNS.join(', ')} are`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw badSample('preview.sample.malformed', `line 1: the column ${twice} stands there twice`);
  const missing = REQUIRED.find((name) => !names.includes(name));
  if (missing !== undefined) throw badSample('preview.sample.malformed', `line 1: the column ${missing} is missing`);
  return names;
}

function rowOf(record: Record['record'], fault: (column: string, detail: string) => void): SampleRow {
  const { at = '', method = '', path = '', ip = '', cost = '' } = record;
  const atMs = momentOf(at);
  if (atMs === undefined)
    fault('at', `must be milliseconds since 1970, or a time with a zone like 2026-11-22T10:00:00.250Z; got ${shown(at)}`);
  for (const [column, value] of [
    ['method', method],
    ['path', path],
  ] as const) {
    const expected = FORMATS[column].fault(value);
    if (expected !== undefined) fault(column, `${expected}; got ${shown(value)}`);
  }
  if (ip !== '' && isIP(ip) === 0) fault('ip', `must be an IP address; got ${shown(ip)}`);
  const tokens = cost === '' ? undefined : /^\d{1,10}$/.test(cost) && Number(cost) <= MAX_COST ? Number(cost) : Number.NaN;
  if (Number.isNaN(tokens)) fault('cost', `must be a whole number from 0 to ${MAX_COST}; got ${shown(cost)}`);
  return { atMs: atMs ?? 0, method, path: path.split('?', 1)[0]!, ip: ip === '' ? undefined : canonicalAddress(ip), cost: tokens };
}

/** The same as for a request that is explained. */
const { method, path } = EXPLAIN_FIELDS.request.fields;
const FORMATS = { method: method.format, path: path.format };

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970. A time without a zone would mean another one on every machine. */
function momentOf(text: string): number | undefined {
  const ms = /^\d{1,16}(?:\.\d{1,6})?$/.test(text) ? Number(text) : RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return ms >= 0 && ms <= LAST_MS ? ms : undefined;
}

function badSample(code: string, detail: string): Error {
  return badBody([{ pointer: '/sample', code, detail }]);
}

function faultAt(detail: string): Fault {
  return { pointer: '/sample', code: 'preview.sample.malformed', detail };
}
