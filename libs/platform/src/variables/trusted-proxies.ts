import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { addressBits, parseIpRange } from '../ip-range.js';
import { expected } from './variable.js';

const EXPECTED = 'IP addresses and CIDR ranges, separated by commas, or none';

/**
 * Parses TRUSTED_PROXIES into ranges, each written as `network/prefix`.
 * IPv4-mapped IPv6 ranges are refused: `::ffff:10.0.0.0/8` looks like a private network and means half the internet.
 *
 * @throws ExpectationError
 */
export function parseTrustedProxies(text: string): readonly string[] {
  if (text.trim() === 'none') return Object.freeze([]);
  return Object.freeze(text.split(',').map((item) => canonicalRange(item.trim())));
}

function canonicalRange(text: string): string {
  const range = parseIpRange(text);
  if (range === undefined) return expected(EXPECTED + prefixHint(text));
  const [address, prefixBits] = range;
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) {
    return expected(`${EXPECTED}; write an IPv4-mapped range like ${text} as IPv4`);
  }
  const family = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = family.networkAddressFromCIDR(`${address.toString()}/${prefixBits}`).toString();
  if (network !== address.toString()) return expected(`${EXPECTED}; ${text} has bits beyond its prefix, write ${network}/${prefixBits}`);
  return `${network}/${prefixBits}`;
}

/** Only the prefix is wrong if what stands before it is an address. */
function prefixHint(text: string): string {
  const [address = '', prefix] = text.split('/');
  const family = isIP(address);
  return family === 0 || prefix === undefined ? '' : `, with a prefix of at most ${addressBits(family)} bits in ${text}`;
}
