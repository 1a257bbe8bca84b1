import {
  languageOf,
  objectAt,
  storedOverrides,
  storedRules,
  storedTimeZone,
  UnreadableError,
  wholeAt,
  type DefaultRulesSnapshot,
  type MerchantSnapshot,
} from '#limiter';
import { parsed, StoredError, type Parsed } from './stored.js';

/**
 * How snapshots stand in Redis: sixteen digits of version, so that a script compares it without reading the rest, then JSON with a
 * format. A gateway ignores formats that it does not know and asks PostgreSQL instead: whoever changes what rules mean counts
 * it up, so that an older gateway never decides by half a rule. Without a format it is the first. In the second, a rule says in which version of the language it is
 * written, so that a reader recognises those that it cannot read: see NewerRule.
 */
const SNAPSHOT_FORMAT = 2;
/** Who uses nothing that is new is read by gateways of before as well, so an update need not begin with the gateways. */
const FIRST_FORMAT = 1;

const VERSION_DIGITS = 16;

/** Versions count edits. So many nobody makes: such a one would stand in the way of every true one for ever. lua/write-snapshots.lua knows it too. */
export const MOST_VERSIONS = 1_000_000_000_000;

/** A hundred rules of eight limits and what they remember of their edits are far below it. */
export const MOST_SNAPSHOT_CHARACTERS = 8 * 1024 * 1024;

export function snapshotText(snapshot: MerchantSnapshot | DefaultRulesSnapshot): string {
  return String(snapshot.version).padStart(VERSION_DIGITS, '0') + JSON.stringify(stored(snapshot));
}

function stored({ newerRules = [], ...snapshot }: MerchantSnapshot | DefaultRulesSnapshot): object {
  const { rules } = snapshot;
  const hasOverrides = 'overrides' in snapshot && snapshot.overrides !== undefined;
  if (!hasOverrides && newerRules.length === 0 && rules.every((rule) => languageOf(rule) === 1))
    return { format: FIRST_FORMAT, ...snapshot };
  const withLanguage = rules.map((rule) => ({ ...rule, language: languageOf(rule) }));
  return { format: SNAPSHOT_FORMAT, ...snapshot, rules: [...withLanguage, ...newerRules] };
}

/** Never throws. */
export function parseMerchantSnapshot(text: string, merchantId: string): Parsed<MerchantSnapshot> {
  return parsedBody(text, (fields) => {
    if (fields['merchantId'] !== merchantId) throw new UnreadableError('merchantId: is another one');
    if (typeof fields['exists'] !== 'boolean') throw new UnreadableError('exists: must be true or false');
    return {
      merchantId,
      version: versionOf(text, fields),
      exists: fields['exists'],
      timeZone: storedTimeZone(fields['timeZone']),
      ...storedRules(fields['rules']),
      ...(fields['overrides'] !== undefined && { overrides: storedOverrides(fields['overrides']) }),
    };
  });
}

/** Never throws. */
export function parseDefaultRules(text: string): Parsed<DefaultRulesSnapshot> {
  return parsedBody(text, (fields) => ({ version: versionOf(text, fields), ...storedRules(fields['rules']) }));
}

function parsedBody<T>(text: string, read: (fields: Readonly<Record<string, unknown>>) => T): Parsed<T> {
  if (text.length > MOST_SNAPSHOT_CHARACTERS) return { reason: 'too_large', detail: `more than ${MOST_SNAPSHOT_CHARACTERS} characters` };
  return parsed(text.slice(VERSION_DIGITS), MOST_SNAPSHOT_CHARACTERS, (value) => {
    const fields = objectAt(value, 'the snapshot');
    const { format = FIRST_FORMAT } = fields;
    if (Number.isSafeInteger(format) && (format as number) > SNAPSHOT_FORMAT) {
      throw new StoredError('newer_format', `format ${String(format)}, and this version reads ${SNAPSHOT_FORMAT}`);
    }
    if (format !== SNAPSHOT_FORMAT && format !== FIRST_FORMAT) throw new UnreadableError('format: must be a number');
    return read(fields);
  });
}

/** It stands there twice, and the two must agree: scripts go by the one in front. */
function versionOf(text: string, { version }: Readonly<Record<string, unknown>>): number {
  const front = text.slice(0, VERSION_DIGITS);
  if (typeof version === 'number' && (!Number.isSafeInteger(version) || version < 0 || version > MOST_VERSIONS)) {
    throw new StoredError('implausible_version', `version ${version} counts more edits than there can be`);
  }
  const number = wholeAt(version, 'version', 0, MOST_VERSIONS);
  if (front !== String(number).padStart(VERSION_DIGITS, '0')) throw new UnreadableError('version: differs from the one in front');
  return number;
}
