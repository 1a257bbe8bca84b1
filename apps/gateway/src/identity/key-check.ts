import { randomBytes } from 'node:crypto';
import type { KnownApiKey } from '#enforcement';
import { API_KEY_TEXT } from '#platform';
import { SipHash } from './sip-hash.js';

/**
 * Whether a text is this API key. The first time it is compared by its hash as it is stored, SHA-256; from then on by 64 bits of SipHash with a key that this process has made
 * up and tells nobody. The call of OpenSSL between all that a request does besides costs some seven microseconds, nearly all of it because nothing of it is in the caches of
 * the processor. A text that does not agree is compared by the stored hash again, so that nothing right is refused.
 */
export function createKeyCheck(key = randomBytes(16)): (text: string, known: KnownApiKey) => boolean {
  const sip = new SipHash(key);
  return (text, known) => {
    sip.hash(text);
    const { seen } = known;
    if (seen !== undefined && ((seen.low ^ sip.low) | (seen.high ^ sip.high)) === 0) return true;
    if (!API_KEY_TEXT.matches(text, known.hash)) return false;
    known.seen = { low: sip.low, high: sip.high };
    return true;
  };
}
