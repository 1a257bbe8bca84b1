import { type FieldScalar, type FieldValue, isSeveral, textOf } from '../conditions/field-value.js';
import { AskedFields, requestField, type RequestField } from '../conditions/request-field.js';
import type { Descriptor } from '../matching/descriptor.js';
import { digestOf } from '../digest.js';
import type { KeyPart, Rule } from '../rules/rule.js';

/** Of a limit, or of the rule's penalty. */
export type LimitId = number | 'penalty';

/**
 * The identity of a bucket: rule, limit and the fields of the request that the rule names. The only place that builds it. Two different descriptors
 * never share a key, whatever they contain: every value is escaped, so that what separates values cannot occur in one, or, where a client may write
 * anything, stands there as a digest: that is short, and puts no secret of a header or a cookie into Redis.
 *
 * The merchant stands in braces: in a Redis Cluster all buckets of a merchant then lie in one slot, where one script
 * call can take from them together.
 */
export function bucketKey(rule: Pick<Rule, 'id' | 'key'>, limitId: LimitId, descriptor: Descriptor): string {
  return keyHead(rule, limitId, descriptor.merchantId) + keyParts(rule.key, descriptor);
}

/** What stands before the parts that depend on the request. */
export function keyHead({ id, key }: Pick<Rule, 'id' | 'key'>, limitId: LimitId, merchantId: string): string {
  return bucketKeyHead(merchantId, id, limitId, key.includes('merchant'));
}

/** The parts that depend on the request: the same for all limits of a rule. In an order of their own, because they are a set, whatever order they are written in. */
export function keyParts(key: readonly KeyPart[], descriptor: Descriptor): string {
  let parts = '';
  let known = 0;
  if (key.includes('merchant')) known++;
  if (key.includes('ip')) {
    parts += `:${escaped(descriptor.ip)}`;
    known++;
  }
  if (key.includes('method')) {
    parts += `:${escaped(descriptor.method)}`;
    known++;
  }
  return known === key.length ? parts : parts + namedParts(key, descriptor);
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

/** Fields of which only the value stands in a key, without their name. */
const UNNAMED: readonly KeyPart[] = ['merchant', 'ip', 'method'];

function namedParts(key: readonly KeyPart[], descriptor: Descriptor): string {
  const request = new AskedFields(descriptor);
  return namedFieldsOf(key)
    .map((field) => `:${escaped(field.name)}${valuePart(field, request.valueOf(field))}`)
    .join('');
}

/** By the list of parts, which lives as long as its rule. */
const NAMED_FIELDS = new WeakMap<readonly KeyPart[], readonly RequestField[]>();

/** By their names; a field that is written twice, in another case, is one. */
function namedFieldsOf(key: readonly KeyPart[]): readonly RequestField[] {
  let fields = NAMED_FIELDS.get(key);
  if (fields === undefined) {
    const named = key.filter((part) => !UNNAMED.includes(part)).map(requestField);
    const byName = new Map(named.map((field) => [field.name, field]));
    fields = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    NAMED_FIELDS.set(key, fields);
  }
  return fields;
}

/** What a request has for a part of a key, to be shown; undefined where it has nothing. */
export function keyPartOf(descriptor: Descriptor, part: KeyPart): string | undefined {
  const value = new AskedFields(descriptor).valueOf(requestField(part));
  if (value === undefined) return undefined;
  return isSeveral(value) ? value.map(textOf).join(', ') : textOf(value);
}

const MOST_PLAIN_CHARACTERS = 128;

/** `=` and the value. Nothing stands there for a field that is absent, so that absence is told apart from an empty text; `=` occurs in no escaped name. */
function valuePart({ isFree }: RequestField, value: FieldValue): string {
  if (value === undefined) return '';
  // What comes more than once is a value of its own: its texts with their lengths, which no one text is taken for.
  if (isSeveral(value)) return `=,${digestOf(value.map(withLength).join(''))}`;
  // A number, and true, are others than the texts that look like them.
  if (typeof value !== 'string') return `=+${digestOf(withLength(value))}`;
  if (!isFree && value.length <= MOST_PLAIN_CHARACTERS) return `=${escaped(value)}`;
  return `==${digestOf(value)}`;
}

function withLength(value: FieldScalar): string {
  return typeof value === 'string' ? `${value.length}:${value}` : `${value.kind}${value.text.length}:${value.text}`;
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
