import type { Descriptor } from './descriptor.js';
import { KEY_PARTS, type KeyPart, type Rule } from './rule.js';

/** Of a limit, or of the rule's penalty. */
export type LimitId = number | 'penalty';

/**
 * The identity of a bucket: rule, limit and the parts of the descriptor that the rule names. The only place that builds
 * it. Two different descriptors never share a key, whatever they contain: every value is escaped, so that what separates
 * values cannot occur in one. The values are bounded where they enter (merchant ids, addresses, methods).
 *
 * The merchant stands in braces: in a Redis Cluster all buckets of a merchant then lie in one slot, where one script
 * call can take from them together.
 */
export function bucketKey(rule: Pick<Rule, 'id' | 'key'>, limitId: LimitId, descriptor: Descriptor): string {
  let key = bucketKeyHead(descriptor.merchantId, rule.id, limitId, rule.key.includes('merchant'));
  // In an order of its own: the parts are a set, whatever order they are written in.
  for (const part of KEY_PARTS) {
    if (part !== 'merchant' && rule.key.includes(part)) key += `:${escaped(keyPartOf(descriptor, part))}`;
  }
  return key;
}

/**
 * True if a merchant has one bucket per limit of this rule, so that its keys are known before any request comes.
 */
export function isMerchantKeyed(rule: Pick<Rule, 'key'>): boolean {
  return rule.key.length === 1 && rule.key[0] === 'merchant';
}

export function merchantBucketKey(merchantId: string, ruleId: string, limitId: number): string {
  return bucketKeyHead(merchantId, ruleId, limitId, true);
}

/**
 * `{merchant}` in front; without the merchant in the key all merchants share a bucket. The rule's id, a decimal number, is
 * written shorter: with millions of buckets each byte of a key counts.
 */
function bucketKeyHead(merchantId: string, ruleId: string, limitId: LimitId, byMerchant: boolean): string {
  return `{${byMerchant ? escaped(merchantId) : ''}}${Number(ruleId).toString(36)}.${limitId}`;
}

/** The value by which a part of the key tells buckets apart. */
export function keyPartOf(descriptor: Descriptor, part: Exclude<KeyPart, 'merchant'>): string {
  return part === 'ip' ? descriptor.ip : descriptor.method;
}

const PLAIN = /^[A-Za-z0-9_.~@+-]*$/;

/**
 * An injective spelling with no character that Redis, a shell or a log would take for something else. Code units above
 * ASCII are kept by number, so that even a lone surrogate is told apart.
 */
export function escaped(value: string): string {
  if (PLAIN.test(value)) return value;
  let out = '';
  for (let i = 0; i < value.length; i++) {
    const char = value[i]!;
    out += PLAIN.test(char) ? char : `%${value.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return out;
}
