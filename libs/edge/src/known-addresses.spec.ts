import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { KnownAddresses, MAX_KNOWN_ADDRESSES } from './known-addresses.js';
import { createTrust } from './trust.js';

it('remembers a bounded number of addresses', () => {
  const addresses = new KnownAddresses(createTrust(['10.0.0.0/8']));
  const address = (i: number): string => `192.0.${i >> 8}.${i & 255}`;
  let most = 0;
  for (let i = 0; i < 2.5 * MAX_KNOWN_ADDRESSES; i++) {
    addresses.lookUp(address(i));
    expect(addresses.lookUp(address(i))).toEqual({ ip: address(i), trusted: false });
    most = Math.max(most, addresses.size);
  }
  expect(most).toBe(MAX_KNOWN_ADDRESSES);
  expect(addresses.lookUp('10.0.0.1')).toEqual({ ip: '10.0.0.1', trusted: true });
  expect(addresses.lookUp('no address')).toBeNull();
});

it('remembers nothing of a flood of addresses that come once each', () => {
  const addresses = new KnownAddresses(createTrust([]));
  for (let i = 0; i < 100_000; i++) addresses.lookUp(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  expect(addresses.size).toBeLessThan(5);
});

it('remembers nothing of the headers in which addresses stood, and no text that is too long for one', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const addresses = new KnownAddresses(createTrust([]));
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 2_000; i++) {
    const header = `${'x'.repeat(16_000)},192.168.${100 + (i >> 7)}.${100 + (i & 127)}`;
    for (let times = 0; times < 2; times++) {
      addresses.lookUp(header.slice(16_001));
      addresses.lookUp(header);
    }
  }
  collect();
  // All headers together are 32 MB.
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(8);
  expect(addresses.size).toBeGreaterThan(1_000);
});
