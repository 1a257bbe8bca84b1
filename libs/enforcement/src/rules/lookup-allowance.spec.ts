import { LookupAllowance } from './lookup-allowance.js';

function create(perSecond: number, perPeerPerSecond: number) {
  const clock = { nowMs: 0 };
  const allowance = new LookupAllowance({ perSecond, perPeerPerSecond, atOnce: 1, now: () => clock.nowMs });
  /** How many of these look-ups are made. */
  const ask = (peer: string, times: number): number => {
    let made = 0;
    for (let i = 0; i < times; i++) if (allowance.take(peer)) made++;
    return made;
  };
  return { clock, allowance, ask };
}

test('lookups of unknown ids are bounded by the second, whichever peer asks', () => {
  const { clock, ask } = create(60, 1000);
  let made = 0;
  for (; clock.nowMs < 10_000; clock.nowMs += 10) made += ask(`192.0.2.${clock.nowMs % 250}`, 100);
  expect(made).toBeGreaterThanOrEqual(620);
  expect(made).toBeLessThanOrEqual(630);
  expect(ask('192.0.2.1', 1000)).toBeLessThanOrEqual(1);
});

test('one peer cannot use up the allowance of all', () => {
  const { ask } = create(60, 15);
  expect(ask('192.0.2.1', 1000)).toBe(15);
  expect(ask('192.0.2.2', 1000)).toBe(15);
  expect(ask('192.0.2.3', 1000)).toBe(0);
});

test('the allowance comes back with time, up to the burst', () => {
  const { clock, ask } = create(60, 15);
  ask('192.0.2.1', 1000);
  clock.nowMs = 200;
  expect(ask('192.0.2.1', 1000)).toBe(3);
  clock.nowMs = 60_000;
  expect(ask('192.0.2.1', 1000)).toBe(15);
});

test('the lookup of a merchant that exists costs nothing', () => {
  const { allowance } = create(10, 1);
  for (let i = 0; i < 1000; i++) {
    expect(allowance.take('192.0.2.1')).toBe(true);
    expect(allowance.allows('192.0.2.1')).toBe(false);
    allowance.giveBack('192.0.2.1');
  }
  // And brings nothing: there is never more than at first.
  expect([allowance.take('192.0.2.1'), allowance.take('192.0.2.1')]).toEqual([true, false]);
});

test('as many lookups as may run at once are always possible', () => {
  const allowance = new LookupAllowance({ perSecond: 1, perPeerPerSecond: 1, atOnce: 8, now: () => 0 });
  expect(Array.from({ length: 9 }, () => allowance.take('192.0.2.1'))).toEqual([...Array<boolean>(8).fill(true), false]);
});

test('addresses of one IPv6 network count as one peer', () => {
  const { ask } = create(1000, 2);
  expect(ask('2001:db8::1', 5) + ask('2001:db8:0:0:1:2:3:4', 5) + ask('2001:db8::', 5)).toBe(2);
  expect(ask('2001:db8:0:1::1', 5)).toBe(2);
  expect(ask('::1', 5) + ask('::2', 5)).toBe(2);
});

test('a bounded number of peers is remembered, however many ask', () => {
  const { allowance } = create(1_000_000, 1);
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 200_000; i++) allowance.take(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 2 ** 20);
});
