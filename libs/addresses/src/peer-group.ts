import ipaddr from 'ipaddr.js';

/** The peer for which an address counts where peers have bounds. A client with one IPv6 address has 2^64 of them, so its /64 network is the peer. */
export function peerGroup(address: string): string {
  if (!address.includes(':')) return address;
  // A link-local address may name its interface.
  const [bare = ''] = address.split('%', 1);
  return ipaddr.IPv6.isValid(bare) ? `${ipaddr.IPv6.parse(bare).parts.slice(0, 4).join(':')}::/64` : address;
}
