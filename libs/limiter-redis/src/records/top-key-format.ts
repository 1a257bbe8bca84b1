import { isMerchantId, UnreadableError } from '#limiter';
import { MOST_KEY_PARTS } from './receipt-format.js';
import { parsed, type Parsed } from '../stored.js';

/** By what keys are ranked: how often they asked, or how often a rule refused them. */
export const TOP_KEY_RANKS = ['requests', 'refused'] as const;
export type TopKeyRank = (typeof TOP_KEY_RANKS)[number];

/** A key that a rule counts apart, like one account or one address. */
export interface TopKey {
  readonly merchantId: string;
  readonly ruleId: string;
  /** Its parts. Whatever may be personal is a keyed hash. */
  readonly key: Readonly<Record<string, string>>;
}

/** More, and longer, names of parts than anybody writes. */
const MOST_CHARACTERS = 2_048;
const RULE_ID = /^[1-9]\d{0,18}$/;
const MOST_NAME_CHARACTERS = 256;

/** The text that stands in a rank; undefined if it is too long. */
export function topKeyText({ merchantId, ruleId, key }: TopKey): string | undefined {
  const text = JSON.stringify([merchantId, ruleId, key]);
  return text.length <= MOST_CHARACTERS ? text : undefined;
}

/** Never throws: another version may have written it, or somebody else. */
export function parseTopKey(text: string): Parsed<TopKey> {
  return parsed(text, MOST_CHARACTERS, (value) => {
    const [merchantId, ruleId, key] = Array.isArray(value) ? (value as unknown[]) : [];
    if (!isMerchantId(merchantId)) throw new UnreadableError('merchantId: must be an id');
    if (typeof ruleId !== 'string' || !RULE_ID.test(ruleId)) throw new UnreadableError('ruleId: must be an id');
    return { merchantId, ruleId, key: partsOf(key) };
  });
}

function partsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnreadableError('key: must be an object');
  const parts = Object.entries(value);
  const areTexts = parts.every(([name, text]) => name.length <= MOST_NAME_CHARACTERS && typeof text === 'string');
  if (parts.length > MOST_KEY_PARTS || !areTexts) throw new UnreadableError('key: must have a few texts');
  return Object.fromEntries(parts) as Record<string, string>;
}
