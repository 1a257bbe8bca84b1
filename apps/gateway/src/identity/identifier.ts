import { isUtf8 } from 'node:buffer';
import { isMerchantId } from '#limiter';
import { clientAddress } from './client-address.js';
import { KnownAddresses } from './known-addresses.js';
import type { Trust } from './trust.js';

/** Why it is not known which merchant asks. */
export type IdentityProblem = 'no_identity' | 'untrusted_peer' | 'duplicate_identity' | 'invalid_identity';

/** Who is asking; `ip` is the client's address in canonical text. */
export type Identity = { merchantId: string; ip: string } | { problem: IdentityProblem; ip: string };

/** What an identity is read from. */
export interface IdentitySource {
  /** Names and values alternating, as received; Node decodes them as Latin-1. */
  rawHeaders: readonly string[];
  /** The remote address of the connection. */
  peer: string;
}

export type Identifier = (request: IdentitySource) => Identity;

/**
 * Identifies the merchant by X-Merchant-Id, believed only from trusted peers, and the client's address: the peer,
 * or what trusted peers say in X-Forwarded-For.
 */
export function createIdentifier({ trusts }: { trusts: Trust }): Identifier {
  const addresses = new KnownAddresses(trusts);

  return ({ rawHeaders, peer }) => {
    let ids = 0;
    let id = '';
    let forwardedFor = '';
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!;
      if (name.length === 13) {
        if (isNamed(name, 'x-merchant-id')) {
          ids++;
          id = rawHeaders[i + 1]!;
        }
      } else if (name.length === 15 && isNamed(name, 'x-forwarded-for')) {
        const value = rawHeaders[i + 1]!;
        forwardedFor = forwardedFor === '' ? value : `${forwardedFor},${value}`;
      }
    }

    const known = addresses.lookUp(peer);
    if (known === null || !known.trusted) {
      return { problem: ids > 0 ? 'untrusted_peer' : 'no_identity', ip: known?.ip ?? peer };
    }
    const ip = forwardedFor === '' ? known.ip : clientAddress(known, forwardedFor, addresses);
    if (ids === 0) return { problem: 'no_identity', ip };
    if (ids > 1) return { problem: 'duplicate_identity', ip };
    const merchantId = decoded(id);
    return isMerchantId(merchantId) ? { merchantId, ip } : { problem: 'invalid_identity', ip };
  };
}

function isNamed(name: string, lowerCase: string): boolean {
  const first = name.charCodeAt(0) | 0x20;
  return first === lowerCase.charCodeAt(0) && name.toLowerCase() === lowerCase;
}

/**
 * A header value as UTF-8; undefined if it is none. Replacing wrong bytes instead would make two different values
 * the same merchant.
 */
function decoded(latin1: string): string | undefined {
  for (let i = 0; i < latin1.length; i++) {
    if (latin1.charCodeAt(i) > 0x7f) {
      const bytes = Buffer.from(latin1, 'latin1');
      return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
    }
  }
  return latin1;
}
