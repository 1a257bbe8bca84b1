import { isUtf8 } from 'node:buffer';
import { isMerchantId, line } from '#limiter';
import { clientAddress } from './client-address.js';
import { KnownAddresses } from './known-addresses.js';
import type { Trust } from './trust.js';

/** Why it is not known which merchant asks. */
export type IdentityProblem =
  'no_identity' | 'untrusted_peer' | 'duplicate_identity' | 'invalid_identity' | 'duplicate_user' | 'invalid_user';

/** The merchant that sends a request, and its user if it names one, or why it is not known; `ip` is the client's address in canonical text. */
export type Identity = { merchantId: string; user?: string; ip: string } | { problem: IdentityProblem; ip: string };

/** What the headers of a request say about its sender. Node decodes them as Latin-1. */
export interface IdentityHeaders {
  /** How many X-Merchant-Id headers there are. */
  readonly merchantIds: number;
  /** The value of the last one. */
  readonly merchantId: string;
  /** Likewise of X-User-Id. */
  readonly userIds: number;
  readonly userId: string;
  /** All values of X-Forwarded-For, joined by commas in the order received. */
  readonly forwardedFor: string;
}

/** What an identity is read from. */
export interface IdentitySource {
  readonly head: IdentityHeaders;
  /** The remote address of the connection, in canonical text. */
  readonly peer: string;
  /** Whether the peer is believed about the merchant and the client. */
  readonly trusted: boolean;
  /** Whom its credential names, if there is one. */
  readonly caller?: { readonly merchantId: string } | null;
}

export type Identifier = (request: IdentitySource) => Identity;

/** As the Rules API has it for API keys. */
const USER = line(128);

/**
 * Identifies the merchant by X-Merchant-Id and its user by X-User-Id, believed only from trusted peers, and the client's address: the peer,
 * or what trusted peers say in X-Forwarded-For. Whom a credential names is believed from anybody, and then X-User-Id is not looked at.
 *
 * @param header false: X-Merchant-Id is believed from nobody
 */
export function createIdentifier({ trusts, header = true }: { trusts: Trust; header?: boolean }): Identifier {
  const addresses = new KnownAddresses(trusts);

  return ({ head, peer, trusted, caller }) => {
    const { merchantIds, merchantId: encoded, forwardedFor } = head;
    if (caller) return { merchantId: caller.merchantId, ip: addressOf(peer, trusted, forwardedFor, addresses) };
    if (!header) return { problem: 'no_identity', ip: addressOf(peer, trusted, forwardedFor, addresses) };
    if (!trusted) return { problem: merchantIds > 0 ? 'untrusted_peer' : 'no_identity', ip: peer };
    const ip = forwardedFor === '' ? peer : clientAddress(peer, forwardedFor, addresses);
    if (merchantIds === 0) return { problem: 'no_identity', ip };
    if (merchantIds > 1) return { problem: 'duplicate_identity', ip };
    const merchantId = decoded(encoded);
    if (!isMerchantId(merchantId)) return { problem: 'invalid_identity', ip };
    return head.userIds === 0 ? { merchantId, ip } : withUser(merchantId, head, ip);
  };
}

/** An empty text is what proxies send who know of no user. */
function withUser(merchantId: string, { userIds, userId }: IdentityHeaders, ip: string): Identity {
  if (userIds > 1) return { problem: 'duplicate_user', ip };
  if (userId === '') return { merchantId, ip };
  const user = decoded(userId);
  return user !== undefined && USER.fault(user) === undefined ? { merchantId, user, ip } : { problem: 'invalid_user', ip };
}

/** The address of the client alone. */
export function createClientOf({ trusts }: { trusts: Trust }): (request: IdentitySource) => string {
  const addresses = new KnownAddresses(trusts);
  return ({ head: { forwardedFor }, peer, trusted }) => addressOf(peer, trusted, forwardedFor, addresses);
}

function addressOf(peer: string, trusted: boolean, forwardedFor: string, addresses: KnownAddresses): string {
  return trusted && forwardedFor !== '' ? clientAddress(peer, forwardedFor, addresses) : peer;
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
