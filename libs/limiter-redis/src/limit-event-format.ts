import { isMerchantId, UnreadableError } from '#limiter';
import { parsed, StoredError, type Parsed } from './stored.js';

/** What may be told of a limit: four fifths of it are used, or it has refused a request. */
export const LIMIT_EVENT_KINDS = ['limit.80', 'limit.100'] as const;
export type LimitEventKind = (typeof LIMIT_EVENT_KINDS)[number];

/** That a limit of a merchant's rule is nearly or wholly used. It names no key of a bucket, which may be personal. */
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
const LAST_MS = 8.64e15;

/** The part of an event that stands as JSON in the stream. */
export function limitEventText({ ruleId, rule, limit, capacity, remaining }: LimitUse): string {
  return JSON.stringify({ v: FORMAT, ruleId, rule, limit, capacity, remaining });
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
    };
  });
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value.length > MOST_NAME_CHARACTERS) throw new UnreadableError('must be a short text');
  return value;
}

function whole(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > max) throw new UnreadableError('must be a whole number');
  return value as number;
}
