import { isMerchantId, UnreadableError } from '#limiter';
import { MOST_KEY_PARTS } from './receipt-format.js';
import { parsed, StoredError, type Parsed } from '../stored.js';

/** What may be told of a limit: four fifths of it are used, it has refused a request, or it refuses one key again and again. */
export const LIMIT_EVENT_KINDS = ['limit.80', 'limit.100', 'key.refused'] as const;
export type LimitEventKind = (typeof LIMIT_EVENT_KINDS)[number];

/** That a limit of a merchant's rule is nearly or wholly used. It names no key of a bucket but that of `key.refused`, hashed where it is personal. */
export interface LimitUse {
  readonly kind: LimitEventKind;
  readonly merchantId: string;
  readonly ruleId: string;
  /** The name of the rule. */
  readonly rule: string;
  /** The name of the limit. */
  readonly limit: string;
  /** Of the bucket, in whole tokens. */
  readonly capacity: number;
  readonly remaining: number;
  /** Of `key.refused`: the parts of the key, and how often at least it was refused within a minute. */
  readonly key?: Readonly<Record<string, string>>;
  readonly refused?: number;
}

/** As a gateway notes it, which does not know what time it is at the server. */
export interface NewLimitEvent extends LimitUse {
  readonly limitId: number;
  readonly ageMs: number;
}

/** As it waits in Redis. */
export interface LimitEvent extends LimitUse {
  /** By the clock of Redis. Milliseconds. */
  readonly atMs: number;
}

/** An older reader leaves an event of a newer format alone. Fields may be added within one. */
const FORMAT = 1;
const MOST_CHARACTERS = 8_192;
const MOST_NAME_CHARACTERS = 200;
/** Of the name of a field: a path in a body is the longest. */
const MOST_FIELD_CHARACTERS = 600;
const LAST_MS = 8.64e15;

/** The part of an event that stands as JSON in the stream. */
export function limitEventText({ ruleId, rule, limit, capacity, remaining, key, refused }: LimitUse): string {
  return JSON.stringify({ v: FORMAT, ruleId, rule, limit, capacity, remaining, key, refused });
}

/** An entry of the stream, as names and values. Never throws: another version may have written it, or somebody else. */
export function parseLimitEvent(fields: readonly string[]): Parsed<LimitEvent> {
  const entry = new Map(Array.from({ length: fields.length >> 1 }, (_, i) => [fields[2 * i], fields[2 * i + 1]!]));
  return parsed(entry.get('r') ?? '', MOST_CHARACTERS, (value) => {
    const rest = value as Readonly<Record<string, unknown>> | null;
    if (typeof rest !== 'object' || rest === null) throw new UnreadableError('must be an object');
    if (typeof rest['v'] === 'number' && rest['v'] > FORMAT) throw new StoredError('newer_format', `format ${rest['v']}`);
    if (rest['v'] !== FORMAT) throw new UnreadableError('no format');
    const kind = LIMIT_EVENT_KINDS.find((each) => each === entry.get('k'));
    const merchantId = entry.get('m');
    if (kind === undefined || !isMerchantId(merchantId)) throw new UnreadableError('must have a kind and a merchant');
    if (!/^[1-9]\d{0,18}$/.test(text(rest['ruleId']))) throw new UnreadableError('ruleId: must be a number');
    return {
      kind,
      merchantId,
      atMs: whole(Number(entry.get('t')), LAST_MS),
      ruleId: text(rest['ruleId']),
      rule: text(rest['rule']),
      limit: text(rest['limit']),
      capacity: whole(rest['capacity']),
      remaining: whole(rest['remaining']),
      ...(kind === 'key.refused' && { key: keyParts(rest['key']), refused: whole(rest['refused']) }),
    };
  });
}

function keyParts(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnreadableError('key: must be an object');
  const parts = Object.entries(value);
  if (parts.length > MOST_KEY_PARTS) throw new UnreadableError('key: has too many parts');
  return Object.fromEntries(parts.map(([part, each]) => [text(part, MOST_FIELD_CHARACTERS), text(each)]));
}

function text(value: unknown, most = MOST_NAME_CHARACTERS): string {
  if (typeof value !== 'string' || value.length > most) throw new UnreadableError('must be a short text');
  return value;
}

function whole(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > max) throw new UnreadableError('must be a whole number');
  return value as number;
}
