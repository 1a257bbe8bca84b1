import { keyPartOf, type Descriptor, type KeyPart, type LimitReport, type Rule } from '#limiter';
import { personalHash } from './personal-hash.js';

/** Clients choose what stands in keys. */
const MOST_HELD_CHARACTERS = 128;

/** Whether the limit counts more apart than its merchant: one bucket for all of a merchant is no key of its own. */
export function hasKeyOfItsOwn({ rule }: LimitReport): boolean {
  return rule.key.some(isOwnPart);
}

function isOwnPart(part: KeyPart): boolean {
  return part !== 'merchant' && part !== 'method';
}

/**
 * By which the keys of a rule are told apart while they are counted; each part with its length, so that no two keys are one. What is absent is another value
 * than an empty text, and what is long is held as its hash.
 */
export function heldKeyText(rule: Rule, descriptor: Descriptor, secret: string): string {
  return rule.key.map((part) => partText(descriptor, part, secret)).join('');
}

function partText(descriptor: Descriptor, part: KeyPart, secret: string): string {
  const value = keyPartOf(descriptor, part);
  if (value === undefined) return ' -';
  return value.length <= MOST_HELD_CHARACTERS ? ` ${value.length}:${value}` : ` ${personalHash(value, secret)}`;
}
