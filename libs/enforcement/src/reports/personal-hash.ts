import { createHmac } from 'node:crypto';
import { keyPartOf, type Descriptor, type KeyPart, type Rule } from '#limiter';
import { MOST_KEY_PARTS } from '#limiter-redis';

/** Characters of a hash: enough to tell the clients of a day apart. */
const HASH_CHARACTERS = 16;

/** A hash of something personal, from which nobody without the key finds out what it was, however few possibilities there are. */
export function personalHash(value: string, secret: string): string {
  return `hmac:${createHmac('sha256', secret).update(value).digest('base64url').slice(0, HASH_CHARACTERS)}`;
}

/** Everything but the merchant and the method may lead to a person. */
export function hashedKeyOf({ key }: Rule, descriptor: Descriptor, secret: string): Record<string, string> {
  const valueOf = (part: KeyPart): string => {
    const value = keyPartOf(descriptor, part);
    // Nothing: the request does not have it. An empty text has a hash as every other one.
    if (value === undefined) return '';
    return part === 'merchant' || part === 'method' ? value : personalHash(value, secret);
  };
  return Object.fromEntries(key.slice(0, MOST_KEY_PARTS).map((part) => [part, valueOf(part)]));
}
