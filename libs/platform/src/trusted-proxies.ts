import ipaddr from 'ipaddr.js';

const EXPECTED = 'IP addresses and CIDR ranges, separated by commas, or none';

/**
 * The ranges of TRUSTED_PROXIES, each as `network/prefix`, or a text that says what was expected.
 * IPv4-mapped IPv6 ranges are refused: `::ffff:10.0.0.0/8` looks like a private network and means half the internet.
 */
export function parseTrustedProxies(text: string): readonly string[] | string {
  if (text.trim() === 'none') return Object.freeze([]);
  const ranges: string[] = [];
  for (const part of text.split(',').map((item) => item.trim())) {
    const range = parseRange(part);
    if (typeof range !== 'object') return range;
    ranges.push(range.cidr);
  }
  return Object.freeze(ranges);
}

function parseRange(text: string): { cidr: string } | string {
  const [address = '', prefix, ...rest] = text.split('/');
  if (rest.length > 0 || !(ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)) || address.includes('%')) {
    return EXPECTED;
  }
  const ip = ipaddr.parse(address);
  if (ip instanceof ipaddr.IPv6 && ip.isIPv4MappedAddress()) {
    return `${EXPECTED}; write an IPv4-mapped range like ${text} as IPv4`;
  }
  const bits = ip.kind() === 'ipv4' ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : bits + 1;
  if (length > bits) return `${EXPECTED}, with a prefix of at most ${bits} bits in ${text}`;
  const network = networkAddress(ip, length);
  if (network !== ip.toString()) return `${EXPECTED}; ${text} has bits beyond its prefix, write ${network}/${length}`;
  return { cidr: `${network}/${length}` };
}

function networkAddress(ip: ipaddr.IPv4 | ipaddr.IPv6, prefixLength: number): string {
  const bytes = ip.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, prefixLength - index * 8));
    return byte & (0xff << (8 - kept)) & 0xff;
  });
  return ipaddr.fromByteArray(bytes).toString();
}
