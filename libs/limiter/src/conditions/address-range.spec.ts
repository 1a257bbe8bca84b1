import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { addressOf, addressPrefix, addressRange, rangeFault } from './address-range.js';

/** The library takes the deprecated form ::1.2.3.4 for ::ffff:1.2.3.4. */
const isDeprecated = (text: string) => /^::\d+\.\d+\.\d+\.\d+$/.test(text);
const anyAddress = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom('::', '::1', '::ffff:192.0.2.7', '::ffff:c000:207', '1::', '::2:3.4.5.6'),
);
const address = anyAddress.filter((text) => !isDeprecated(text));

test('an address is what the library that gateways use takes for one, and means the same', () => {
  const nearly = fc
    .oneof(address, fc.string({ unit: fc.constantFrom('0', '1', '25', '256', 'f', ':', '::', '.', '/'), maxLength: 12 }))
    .filter((text) => !isDeprecated(text));
  fc.assert(
    fc.property(nearly, (text) => {
      const groups = addressOf(text);
      expect(groups !== undefined).toBe(isIP(text) !== 0);
      if (groups === undefined) return;
      const bytes = ipaddr.process(text).toByteArray();
      expect(groups).toEqual(Array.from({ length: bytes.length / 2 }, (_, i) => bytes[2 * i]! * 256 + bytes[2 * i + 1]!));
    }),
    { numRuns: 2000 },
  );
});

test('a range holds the addresses whose first bits are its own', () => {
  fc.assert(
    fc.property(address, address, fc.nat(128), (network, asked, wanted) => {
      const base = ipaddr.process(network);
      const bits = Math.min(wanted, base.kind() === 'ipv4' ? 32 : 128);
      const kind = base.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
      const range = `${kind.networkAddressFromCIDR(`${base.toString()}/${bits}`).toString()}/${bits}`;
      const other = ipaddr.process(asked);
      expect(rangeFault(range)).toBeUndefined();
      expect(addressRange(range)(addressOf(asked)!)).toBe(other.kind() === base.kind() && other.match(base, bits));
      expect(addressRange(range)(addressOf(network)!)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  '',
  '10.0.0.0/33',
  '10.0.0.0/08',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.1/8',
  '2001:db8::1/32',
  '::/129',
  '010.0.0.1',
  '10.0.0',
  '::ffff:10.0.0.0/104',
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
  '1::2::3',
  '10.0.0.0/8/8',
])('%j is no range', (text) => expect(rangeFault(text)).toMatch(/^must /));

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
  ['2001:db8:0:7:ffff::', '2001:db8:0:7::/64'],
  ['2001:db8:0:8::1', '2001:db8:0:8::/64'],
  ['', ''],
])('%s counts as %s', (text, prefix) => expect(addressPrefix(text)).toBe(prefix));

test('the interface of a link-local address is no part of it', () => {
  expect(addressRange('fe80::/10')(addressOf('fe80::1%eth0')!)).toBe(true);
  expect(rangeFault('fe80::1%eth0')).toMatch(/^must /);
});
