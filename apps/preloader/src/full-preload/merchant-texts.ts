import { isMerchantId } from '#limiter';
import {
  bucketInAdvance,
  bucketsInAdvance,
  compactHead,
  compactTextOfRules,
  type SnapshotFormat,
  textIn,
  type TextOfMerchant,
} from '#limiter-redis';
import { type CopiedRule, isReadable, MAX_RULES_PER_OWNER, type MerchantRows, type UnreadableMerchant } from '#rules-db';
import { RuleText, cutTimes } from './rule-text.js';

/** What is written of a merchant. */
export interface ReadyMerchant extends TextOfMerchant {
  readonly version: number;
  readonly buckets: readonly string[];
}

/** Rules and heads that are kept: characters of their columns together. They are a few hundred each. */
const MOST_CHARACTERS = 8_000_000;
/** What is longer is rarely the same in two merchants. */
const LONGEST_KEPT = 4_000;

/** So many rules are found without looking them up. */
const RECENT = 256;

const VERSION = /^\d{1,12}$/;
const RULE_ID = /^[1-9]\d{0,18}$/;

/** Seen once so far: most of what is seen once is not seen again. */
const SEEN = Symbol('seen once');
/** Only the parser knows what to say of it. */
const UNUSUAL = Symbol('unusual');

/**
 * Makes the texts of merchants without parsing each of them. Rules that say the same, but for their ids and the times of their edits, have texts that are the same but for these. So what PostgreSQL
 * copies of a rule is parsed, checked and written once, by the code that does so for every snapshot, and the text is kept with places for what differs. A million merchants mostly have the same few
 * thousand rules.
 */
export class MerchantTexts {
  private readonly heads = new Map<string, string | typeof UNUSUAL>();
  private readonly rules = new Map<string, RuleText | typeof SEEN | typeof UNUSUAL>();
  /** By the length of the key: to compare a text with another is cheaper than to hash it. */
  private readonly recent = new Array<{ readonly key: string; readonly text: RuleText } | undefined>(RECENT).fill(undefined);
  private characters = 0;

  of(merchant: MerchantRows, format: SnapshotFormat): ReadyMerchant | UnreadableMerchant {
    return (format === 'compact' ? this.compact(merchant) : undefined) ?? parsed(merchant, format);
  }

  /** In the compact format; undefined if the merchant has to be parsed. */
  private compact(merchant: MerchantRows): ReadyMerchant | undefined {
    const { merchantId, version, rules } = merchant;
    if (!VERSION.test(version) || !isMerchantId(merchantId) || rules.length > MAX_RULES_PER_OWNER) return undefined;
    const head = this.headOf(merchant);
    if (head === undefined) return undefined;
    const texts: string[] = [];
    const buckets: string[] = [];
    for (const rule of rules) {
      const { key, times } = cutTimes(rule.columns);
      const text = this.textOf(key, rule, merchant);
      if (text === undefined || !RULE_ID.test(rule.id)) return undefined;
      texts.push(text.write(rule.id, times));
      for (const limitId of text.limitsInAdvance) buckets.push(bucketInAdvance(merchantId, rule.id, limitId));
    }
    return { merchantId, version: Number(version), text: compactTextOfRules(Number(version), head, texts), buckets };
  }

  /** Everything but version and rules. */
  private headOf(merchant: MerchantRows): string | undefined {
    const { others } = merchant;
    if (others === undefined) return undefined;
    let head = this.heads.get(others);
    if (head === undefined) {
      const bare = merchant.parsedWithoutRules();
      head = isReadable(bare) ? compactHead(bare) : UNUSUAL;
      this.makeRoomFor(others);
      this.heads.set(others, head);
    }
    return head === UNUSUAL ? undefined : head;
  }

  private textOf(key: string, rule: CopiedRule, merchant: MerchantRows): RuleText | undefined {
    if (key.length > LONGEST_KEPT) return undefined;
    const place = key.length % RECENT;
    const recent = this.recent[place];
    if (recent?.key === key) return recent.text;
    const known = this.rules.get(key);
    if (known instanceof RuleText) {
      this.recent[place] = { key, text: known };
      return known;
    }
    if (known === UNUSUAL) return undefined;
    if (known === undefined) {
      this.makeRoomFor(key);
      this.rules.set(key, SEEN);
      return undefined;
    }
    const text = RuleText.of(rule.columns, (changed) => merchant.parsedRule(changed));
    this.rules.set(key, text ?? UNUSUAL);
    return text;
  }

  private makeRoomFor(key: string): void {
    this.characters += key.length;
    if (this.characters <= MOST_CHARACTERS) return;
    this.heads.clear();
    this.rules.clear();
    this.characters = key.length;
  }
}

function parsed(merchant: MerchantRows, format: SnapshotFormat): ReadyMerchant | UnreadableMerchant {
  const snapshot = merchant.parsed();
  if (!isReadable(snapshot)) return snapshot;
  const { merchantId, version } = snapshot;
  return { merchantId, version, text: textIn(format, snapshot), buckets: bucketsInAdvance(snapshot) };
}
