import ipaddr from 'ipaddr.js';
import { parseAddress } from './address.js';

/** Only these are assigned as global unicast addresses. What else looks like one may lead anywhere, like the old IPv4-compatible `::10.0.0.1`. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** Addresses of the public ranges behind which a cloud answers its own machines only: the agent of Azure. */
const METADATA = new Set(['168.63.129.16']);

/**
 * Whether an address belongs to the public internet: neither private, loopback, link-local, multicast, reserved nor a metadata service, and none that carries
 * an IPv4 address through a translator or a tunnel. An IPv4-mapped address is judged as the IPv4 address. False for what is no address.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === null || address.range() !== 'unicast' || METADATA.has(address.toString())) return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6);
}
