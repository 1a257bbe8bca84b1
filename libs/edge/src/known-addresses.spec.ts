import { KnownAddresses, MAX_KNOWN_ADDRESSES } from './known-addresses.js';
import { createTrust } from './trust.js';

it('remembers a bounded number of addresses', () => {
  const addresses = new KnownAddresses(createTrust(['10.0.0.0/8']));
  for (let i = 0; i < 2.5 * MAX_KNOWN_ADDRESSES; i++) addresses.lookUp(`192.0.${i >> 8}.${i & 255}`);
  expect(addresses.size).toBeLessThanOrEqual(MAX_KNOWN_ADDRESSES);
  expect(addresses.lookUp('10.0.0.1')).toEqual({ ip: '10.0.0.1', trusted: true });
  expect(addresses.lookUp('no address')).toBeNull();
});
