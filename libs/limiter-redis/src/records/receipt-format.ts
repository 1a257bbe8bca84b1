import { isMerchantId, MERCHANT_ID_MAX_LENGTH, UnreadableError } from '#limiter';
import { parsed, StoredError, type Parsed } from '../stored.js';

/** What a limit said of a request. */
export interface ReceiptLimit {
  readonly ruleId: string;
  /** The name of the rule. */
  readonly rule: string;
  /** The name of the limit. */
  readonly limit: string;
  /** The number of edits of the limit by then. */
  readonly generation: number;
  readonly allowed: boolean;
  readonly capacity: number;
  /** Tokens that the request asked for. */
  readonly cost: number;
  /** Null where it is not known: the store answered nothing. */
  readonly remainingBefore: number | null;
  readonly remainingAfter: number;
  /** Null: never. */
  readonly retryAfterMs: number | null;
  /** What told the bucket from others of the rule. Whatever may be personal is a keyed hash. */
  readonly key: Readonly<Record<string, string>>;
}

/** What was decided about one request, and why. */
export interface DecisionReceipt {
  readonly requestId: string;
  /** By the clock of Redis. Milliseconds. */
  readonly atMs: number;
  readonly merchantId: string;
  readonly allowed: boolean;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** Whether the path was longer. */
  readonly pathIsCut: boolean;
  /** Whether rules did not tell upper from lower case in it. */
  readonly ignorePathCase: boolean;
  readonly reason: string;
  /** Who decided: `store`, `memory`, `local`, or `none`. */
  readonly source: string;
  /** Null: waiting does not help, or it is not known how long. */
  readonly retryAfterMs: number | null;
  readonly limits: readonly ReceiptLimit[];
  /** The route to which it went because it was over a limit. */
  readonly reroutedTo?: string | undefined;
  /** For which others it stands. Undefined: a version that did not say so has written it. */
  readonly sample?: ReceiptSample | undefined;
}

/** What makes a receipt one of a sample, from which traffic can be made again. */
export interface ReceiptSample {
  /** One in so many requests like it has a receipt, as far as there was room. */
  readonly oneIn: number;
  /** Keyed hashes of whoever asked: `ip`, and where they are there `user` and `apiKey`; `ip.prefix` where it is another text than the address. */
  readonly client: Readonly<Record<string, string>>;
  /** Which key the hashes were made with: only those of one key can be compared. */
  readonly hashedWith: string;
}

/** As a gateway writes it, which does not know what time it is at the server. */
export interface NewReceipt extends Omit<DecisionReceipt, 'atMs'> {
  readonly ageMs: number;
  /** Whether a merchant has this id: all others share what may be written of them. */
  readonly isKnownMerchant: boolean;
}

/** An older reader leaves a receipt of a newer format alone. Fields may be added within one. */
const FORMAT = 1;

export const MOST_PATH_CHARACTERS = 1024;
/** Those that refused come first. */
export const MOST_RECEIPT_LIMITS = 16;
export const MOST_KEY_PARTS = 16;
const MOST_CLIENT_FIELDS = 8;
const MOST_ONE_IN = 1_000_000_000;
const MOST_NAME_CHARACTERS = 200;
const MOST_CHARACTERS = 65_536;

/** The part of a receipt that stands as JSON in the stream. */
export function receiptText({
  method,
  path,
  pathIsCut,
  ignorePathCase,
  reason,
  source,
  retryAfterMs,
  limits,
  reroutedTo,
  sample,
}: NewReceipt): string {
  const odd = { ...(pathIsCut && { pathIsCut }), ...(ignorePathCase && { ignorePathCase }) };
  return JSON.stringify({ v: FORMAT, method, path, ...odd, reason, source, retryAfterMs, limits, reroutedTo, sample });
}

/** An entry of the stream, as names and values. Never throws: another version may have written it, or somebody else. */
export function parseReceipt(fields: readonly string[]): Parsed<DecisionReceipt> {
  const entry = new Map(Array.from({ length: fields.length >> 1 }, (_, i) => [fields[2 * i], fields[2 * i + 1]!]));
  const [requestId, merchantId, passed, at, rest] = ['i', 'm', 'o', 't', 'r'].map((name) => entry.get(name));
  return parsed(rest ?? '', MOST_CHARACTERS, (value) => ({
    requestId: text(requestId, 64),
    merchantId: isMerchantId(merchantId) ? merchantId : text(merchantId, MERCHANT_ID_MAX_LENGTH),
    allowed: passed === '1',
    atMs: whole(Number(at), 8.64e15),
    ...restOf(object(value)),
  }));
}

function restOf(rest: Fields): Omit<DecisionReceipt, 'requestId' | 'merchantId' | 'allowed' | 'atMs'> {
  if (typeof rest.v === 'number' && rest.v > FORMAT) throw new StoredError('newer_format', `format ${rest.v}`);
  if (rest.v !== FORMAT) throw new UnreadableError('no format');
  if (!Array.isArray(rest.limits) || rest.limits.length > MOST_RECEIPT_LIMITS) throw new UnreadableError('limits: must be a short list');
  return {
    method: text(rest.method, 32),
    path: text(rest.path, MOST_PATH_CHARACTERS),
    pathIsCut: rest.pathIsCut === true,
    ignorePathCase: rest.ignorePathCase === true,
    reason: text(rest.reason, 64),
    source: text(rest.source, 16),
    retryAfterMs: orNull(rest.retryAfterMs),
    limits: rest.limits.map((limit) => limitOf(object(limit))),
    ...(rest.reroutedTo !== undefined && { reroutedTo: text(rest.reroutedTo, MOST_NAME_CHARACTERS) }),
    sample: rest.sample === undefined ? undefined : sampleOf(object(rest.sample)),
  };
}

function sampleOf({ oneIn, client, hashedWith }: Fields): ReceiptSample {
  if (oneIn === 0) throw new UnreadableError('oneIn: must be at least 1');
  return { oneIn: whole(oneIn, MOST_ONE_IN), client: texts(client, MOST_CLIENT_FIELDS), hashedWith: text(hashedWith, 64) };
}

function limitOf(limit: Fields): ReceiptLimit {
  return {
    ruleId: text(limit.ruleId, 20),
    rule: text(limit.rule, MOST_NAME_CHARACTERS),
    limit: text(limit.limit, MOST_NAME_CHARACTERS),
    generation: whole(limit.generation),
    allowed: limit.allowed === true,
    capacity: whole(limit.capacity),
    cost: whole(limit.cost),
    remainingBefore: orNull(limit.remainingBefore),
    remainingAfter: whole(limit.remainingAfter),
    retryAfterMs: orNull(limit.retryAfterMs),
    key: texts(limit.key, MOST_KEY_PARTS),
  };
}

function texts(value: unknown, most: number): Record<string, string> {
  const entries = Object.entries(object(value));
  if (entries.length > most) throw new UnreadableError('too many names');
  return Object.fromEntries(entries.map(([name, each]) => [text(name, MOST_NAME_CHARACTERS), text(each, MOST_NAME_CHARACTERS)]));
}

type Fields = Readonly<Record<string, unknown>>;

function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnreadableError('must be an object');
  return value as Fields;
}

function text(value: unknown, mostCharacters: number): string {
  if (typeof value !== 'string' || value.length > mostCharacters) throw new UnreadableError('must be a short text');
  return value;
}

function whole(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > max) throw new UnreadableError('must be a whole number');
  return value as number;
}

function orNull(value: unknown): number | null {
  return value === null ? null : whole(value);
}
