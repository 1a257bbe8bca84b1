import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

/** An address and a prefix length in bits: all addresses that begin with the same bits. */
export type IpRange = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefixBits: number];

/**
 * Reads `10.0.0.0/8`, `fd00::/8`, or a single address. Undefined for any other text, zones (`fe80::1%eth0`) included.
 * The address may have bits beyond its prefix, and may be an IPv4-mapped IPv6 address: the caller decides what that means.
 */
export function parseIpRange(text: string): IpRange | undefined {
  const [address = ''] = text.split('/');
  const family = isIP(address);
  // ipaddr.js alone also takes forms like `1`, `0x7f.1` and `010.0.0.1`, which other programs read differently.
  if (family === 0 || address.includes('%')) return undefined;
  const cidr = text === address ? `${address}/${addressBits(family)}` : text;
  return ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined;
}

/** The length of an address in bits. */
export function addressBits(family: number): 32 | 128 {
  return family === 4 ? 32 : 128;
}
