import ipaddr from 'ipaddr.js';
import { parseAddress } from '#addresses';
import { type IpRange, parseIpRange } from '#platform';

/** Whether an IP address is one of those whose word about the client and the merchant counts. */
export type Trust = (address: string) => boolean;

/**
 * @param cidrs addresses and CIDR ranges. An IPv4-mapped IPv6 range means the IPv4 range that it stands for.
 * @returns what tells whether an address lies in one of the ranges; what is no address does not
 * @throws Error naming the range that is none, or is an IPv4-mapped one that reaches beyond IPv4 addresses
 */
export function createTrust(cidrs: readonly string[]): Trust {
  const ranges = cidrs.map(rangeOf);
  return (text) => {
    const address = parseAddress(text);
    if (address === null) return false;
    return ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
  };
}

function rangeOf(cidr: string): IpRange {
  const range = parseIpRange(cidr.trim());
  if (range === undefined) throw new Error(`"${cidr}" is no IP address and no CIDR range`);
  const [address, prefix] = range;
  if (address instanceof ipaddr.IPv4 || !address.isIPv4MappedAddress()) return range;
  // Of `::ffff:10.0.0.0/8` the first 8 bits are zeros that all IPv4-mapped addresses share: it would trust everyone.
  if (prefix < 96) throw new Error(`"${cidr}" reaches beyond IPv4: write the range as IPv4, e.g. 10.0.0.0/8`);
  return [address.toIPv4Address(), prefix - 96];
}
