/** An IP address as groups of 16 bits: two of an IPv4 address, eight of an IPv6 address. */
type Address = readonly number[];

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** With the name of an interface. */
const MAX_LENGTH = 64;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** Whether an address, as a text, lies in a range. */
export type AddressRange = (address: Address) => boolean;

/** What is wrong with a range like `10.0.0.0/8` or an address; nothing if it is right. */
export function rangeFault(text: string): string | undefined {
  const [address, bits, ...more] = text.split('/');
  const groups = addressOf(address!);
  if (groups === undefined || more.length > 0 || text.includes('%')) return EXPECTED;
  const most = groups.length * 16;
  if (bits === undefined) return isMapped(address!) ? MAPPED : undefined;
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits) || isMapped(address!)) return isMapped(address!) ? MAPPED : EXPECTED;
  if (Number(bits) > most) return `must have at most ${most} bits behind the slash`;
  return hasBitsBehind(groups, Number(bits)) ? `must have no bits of the address behind the first ${bits}` : undefined;
}

const EXPECTED = 'must be an IP address, or a range of them like 10.0.0.0/8 or 2001:db8::/32';
const MAPPED = 'must be written as the IPv4 address or range that it stands for';

/** @param text without a fault */
export function addressRange(text: string): AddressRange {
  const [address = '', bits] = text.split('/');
  const groups = addressOf(address)!;
  const length = bits === undefined ? groups.length * 16 : Number(bits);
  return (asked) => {
    if (asked.length !== groups.length) return false;
    for (let i = 0, left = length; left > 0; i++, left -= 16) {
      const shift = Math.max(0, 16 - left);
      if (asked[i]! >> shift !== groups[i]! >> shift) return false;
    }
    return true;
  };
}

/** Undefined if the text is no address. An IPv4-mapped IPv6 address is the IPv4 address that it stands for; the interface of a link-local address is left out. */
export function addressOf(text: string): Address | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (!text.includes(':')) return ipv4Of(text);
  const zone = text.indexOf('%');
  const groups = ipv6Of(zone === -1 ? text : text.slice(0, zone));
  return groups !== undefined && groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff ? groups.slice(6) : groups;
}

/** The network for which an address counts where one stands for many: an IPv4 address for itself, an IPv6 address by its /64. */
export function addressPrefix(text: string): string {
  const groups = text.includes(':') ? addressOf(text) : undefined;
  if (groups?.length !== 8) return text;
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function isMapped(text: string): boolean {
  return text.includes(':') && addressOf(text)?.length === 2;
}

function hasBitsBehind(groups: Address, length: number): boolean {
  return groups.some((group, i) => (group & (0xffff >> Math.min(16, Math.max(0, length - i * 16)))) !== 0);
}

function ipv4Of(text: string): Address | undefined {
  if (!IPV4.test(text)) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function ipv6Of(text: string): Address | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(groupsOf);
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  // An IPv4 address stands at the end only.
  if (halves[0]!.includes('.')) return undefined;
  const missing = 8 - head.length - tail!.length;
  return missing < 1 ? undefined : [...head, ...Array.from({ length: missing }, () => 0), ...tail!];
}

/** What stands on one side of `::`; the last group may be an IPv4 address. */
function groupsOf(text: string): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1)!;
  const embedded = last.includes('.') ? ipv4Of(last) : [];
  if (embedded === undefined) return undefined;
  const own = last.includes('.') ? parts.slice(0, -1) : parts;
  return own.every((part) => GROUP.test(part)) ? [...own.map((part) => Number.parseInt(part, 16)), ...embedded] : undefined;
}
