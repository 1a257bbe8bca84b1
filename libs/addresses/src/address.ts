import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The address, as IPv4 if it is an IPv4-mapped IPv6 address; null if the text is no address. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // What node knows as an IPv4 address has four decimal numbers. ipaddr.js would look for them by several expressions.
  if (isIPv4(text)) return new ipaddr.IPv4(text.split('.').map(Number));
  // ipaddr.js also takes forms like `1`, `0x7f.1` and `010.0.0.1`, which others read differently.
  return isIP(text) === 0 ? null : ipaddr.process(text);
}

/** The one spelling of an IP address, as bucket keys have it. What is no address stays as it is. */
export function canonicalAddress(text: string): string {
  // What is an IPv4 address for node is written in the one way that there is.
  return isIPv4(text) ? text : (parseAddress(text)?.toString() ?? text);
}
