import { Doorkeeper } from './doorkeeper.js';

test('a text that comes again is known, and one that comes for the first time is not', () => {
  const doorkeeper = new Doorkeeper();
  const texts = ['10.0.0.1', '10.0.0.2', '', '2001:db8::1'];
  expect(texts.map((text) => doorkeeper.cameBefore(text))).toEqual([false, false, false, false]);
  expect(texts.map((text) => doorkeeper.cameBefore(text))).toEqual([true, true, true, true]);
});

test('most of some thousand texts are known when they come again, and next to none of a flood that come once', () => {
  const doorkeeper = new Doorkeeper();
  const inUse = Array.from({ length: 2000 }, (_, i) => `192.168.${i >> 8}.${i & 255}`);
  for (const text of inUse) doorkeeper.cameBefore(text);
  expect(inUse.filter((text) => doorkeeper.cameBefore(text)).length).toBeGreaterThan(1600);
  let known = 0;
  for (let i = 0; i < 1_000_000; i++) if (doorkeeper.cameBefore(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)) known++;
  expect(known).toBeLessThan(10);
});
