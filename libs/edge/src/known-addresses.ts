import { parseAddress } from '#addresses';
import { Doorkeeper } from './doorkeeper.js';
import type { Trust } from './trust.js';

/** An address that was looked at before. */
export interface KnownAddress {
  /** Canonical text of the address; an IPv4-mapped IPv6 address is the IPv4 address that it stands for. */
  readonly ip: string;
  readonly trusted: boolean;
}

/** Addresses come from outside: what is remembered of them is bounded, and all forgotten when it is full. */
export const MAX_KNOWN_ADDRESSES = 10_000;
/** No address is longer, unless the name of an interface is part of it. What is longer is looked at each time. */
const MOST_CHARACTERS = 64;

/**
 * Remembers what was found out about addresses, so that a busy proxy costs one look into a map. Only what comes again is remembered: a flood of addresses that
 * come once each would fill the map over and over, with objects that live just long enough to be moved to the old ones.
 */
export class KnownAddresses {
  private readonly known = new Map<string, KnownAddress | null>();
  private readonly doorkeeper = new Doorkeeper();

  constructor(private readonly trusts: Trust) {}

  get size(): number {
    return this.known.size;
  }

  /** What is known about an address; null if the text is no IP address. */
  lookUp(text: string): KnownAddress | null {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    const address = parseAddress(text);
    const found = address === null ? null : { ip: address.toString(), trusted: this.trusts(text) };
    if (text.length > MOST_CHARACTERS || !this.doorkeeper.cameBefore(text)) return found;
    if (this.known.size >= MAX_KNOWN_ADDRESSES) this.known.clear();
    // A copy: an address may be cut out of a long header, which it would keep alive.
    this.known.set(Buffer.from(text).toString(), found);
    return found;
  }
}
