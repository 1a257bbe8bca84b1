import {
  isPlanName,
  languageOf,
  objectAt,
  storedOverrides,
  storedRules,
  storedSwitches,
  storedTimeZone,
  UnreadableError,
  wholeAt,
  type DefaultRulesSnapshot,
  type MerchantSnapshot,
  type PlanSnapshot,
  type Rule,
} from '#limiter';
import { COMPACT_FORMAT, compacted, compactRule, expanded } from './compact-snapshot.js';
import { parsed, StoredError, type Parsed } from '../stored.js';

/**
 * How snapshots stand in Redis: sixteen digits of version, so that a script compares it without reading the rest, then JSON with a
 * format. A gateway ignores formats that it does not know and asks PostgreSQL instead: whoever changes what rules mean counts
 * it up, so that an older gateway never decides by half a rule. Without a format it is the first. In the second, a rule says in which version of the language it is
 * written, so that a reader recognises those that it cannot read: see NewerRule. The third is the second in a few bytes, for merchants alone, and is written only
 * where all who read it know it: see decision 89.
 */
const SNAPSHOT_FORMAT = 2;
/** Rules that use nothing new are read by older gateways as well, so an update need not begin with the gateways. */
const FIRST_FORMAT = 1;

const VERSION_DIGITS = 16;

/** Versions count edits. So many nobody makes: such a one would stand in the way of every true one for ever. lua/write-snapshots.lua knows it too. */
export const MOST_VERSIONS = 1_000_000_000_000;

/** A hundred rules of eight limits and what they remember of their edits are far below it. */
export const MOST_SNAPSHOT_CHARACTERS = 8 * 1024 * 1024;

export function snapshotText(snapshot: MerchantSnapshot | DefaultRulesSnapshot | PlanSnapshot): string {
  return versionText(snapshot) + JSON.stringify(stored(snapshot));
}

/** The same in a third of the bytes, for those who read format 3. */
export function compactSnapshotText(snapshot: MerchantSnapshot): string {
  return versionText(snapshot) + JSON.stringify(compacted(snapshot));
}

/**
 * The same in two steps, for those who have the texts of rules already: what a merchant has besides its rules and overrides, which is one text for many merchants, and
 * that with a version and the rules.
 */
export function compactHead(bare: MerchantSnapshot): string {
  return JSON.stringify(compacted({ ...bare, rules: [] })).slice(0, -1);
}

/** @param rules by `compactRuleText` */
export function compactTextOfRules(version: number, head: string, rules: readonly string[]): string {
  return `${versionText({ version })}${head}${rules.length === 0 ? '' : `,"r":[${rules.join(',')}]`}}`;
}

export function compactRuleText(rule: Rule): string {
  return JSON.stringify(compactRule(rule, languageOf(rule)));
}

/** The version of a snapshot that was written here. */
export function versionIn(text: string): number {
  return Number(text.slice(0, VERSION_DIGITS));
}

function versionText({ version }: { readonly version: number }): string {
  return String(version).padStart(VERSION_DIGITS, '0');
}

function stored({ newerRules = [], ...snapshot }: MerchantSnapshot | DefaultRulesSnapshot | PlanSnapshot): object {
  const { rules } = snapshot;
  const hasOverrides = 'overrides' in snapshot && snapshot.overrides !== undefined;
  if (!hasOverrides && newerRules.length === 0 && rules.every((rule) => languageOf(rule) === 1))
    return { format: FIRST_FORMAT, ...snapshot, rules: rules.map(withKnownPolicy) };
  const withLanguage = rules.map((rule) => ({ ...withKnownPolicy(rule), language: languageOf(rule) }));
  return { format: SNAPSHOT_FORMAT, ...snapshot, rules: [...withLanguage, ...newerRules] };
}

/** Gateways of before do not know `leased`, and would read nothing of the snapshot: to one that has been lent nothing it means `closed`. */
function withKnownPolicy(rule: Rule): Rule {
  return rule.onStoreFailure === 'leased' ? { ...rule, onStoreFailure: 'closed' } : rule;
}

/** Never throws. */
export function parseMerchantSnapshot(text: string, merchantId: string): Parsed<MerchantSnapshot> {
  return parsedBody(text, COMPACT_FORMAT, (read) => {
    const fields = read['format'] === COMPACT_FORMAT ? expanded(read, text.slice(0, VERSION_DIGITS), merchantId) : read;
    if (fields['merchantId'] !== merchantId) throw new UnreadableError('merchantId: is another one');
    return {
      merchantId,
      version: versionOf(text, fields),
      exists: existsIn(fields),
      timeZone: storedTimeZone(fields['timeZone']),
      ...planIn(fields),
      ...storedRules(fields['rules']),
      ...(fields['overrides'] !== undefined && { overrides: storedOverrides(fields['overrides']) }),
    };
  });
}

/** Never throws. */
export function parseDefaultRules(text: string): Parsed<DefaultRulesSnapshot> {
  return parsedBody(text, SNAPSHOT_FORMAT, (fields) => {
    const switches = storedSwitches(fields['switches']);
    return { version: versionOf(text, fields), ...storedRules(fields['rules']), ...(switches.length > 0 && { switches }) };
  });
}

/** Never throws. */
export function parsePlanSnapshot(text: string, plan: string): Parsed<PlanSnapshot> {
  return parsedBody(text, SNAPSHOT_FORMAT, (fields) => {
    if (fields['plan'] !== plan) throw new UnreadableError('plan: is another one');
    return { plan, version: versionOf(text, fields), exists: existsIn(fields), ...storedRules(fields['rules']) };
  });
}

function existsIn({ exists }: Readonly<Record<string, unknown>>): boolean {
  if (typeof exists !== 'boolean') throw new UnreadableError('exists: must be true or false');
  return exists;
}

/** A merchant whose plan cannot be read must not be limited by the rest alone, so its whole snapshot cannot be read. */
function planIn({ plan }: Readonly<Record<string, unknown>>): { readonly plan?: string } {
  if (plan === undefined || plan === null) return {};
  if (!isPlanName(plan)) throw new UnreadableError('plan: must be the name of a plan');
  return { plan };
}

function parsedBody<T>(text: string, newest: number, read: (fields: Readonly<Record<string, unknown>>) => T): Parsed<T> {
  if (text.length > MOST_SNAPSHOT_CHARACTERS) return { reason: 'too_large', detail: `more than ${MOST_SNAPSHOT_CHARACTERS} characters` };
  return parsed(text.slice(VERSION_DIGITS), MOST_SNAPSHOT_CHARACTERS, (value) => {
    const fields = objectAt(value, 'the snapshot');
    const { format = FIRST_FORMAT } = fields;
    if (!Number.isSafeInteger(format) || (format as number) < FIRST_FORMAT) throw new UnreadableError('format: must be a number');
    if ((format as number) > newest) {
      throw new StoredError('newer_format', `format ${String(format)}, and this version reads ${newest}`);
    }
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
  if (front !== versionText({ version: number })) throw new UnreadableError('version: differs from the one in front');
  return number;
}
