import { modeOf } from './enforced-share.js';

const request = (merchantId: string, ip = '') => ({ merchantId, ip, method: 'GET', target: '/' });
const merchants = Array.from({ length: 10_000 }, (_, i) => `merchant-${i}`);
const enforced = (enforcePercent: number, id = '17') =>
  merchants.filter((merchant) => modeOf({ id, key: ['merchant'], mode: { enforcePercent } }, request(merchant)) === 'enforce');

test('an enforced share is as large as configured, to a percent; 0 is none and 100 is all', () => {
  for (const percent of [0, 1, 10, 50, 99, 100])
    expect(Math.abs(enforced(percent).length / 100 - percent)).toBeLessThanOrEqual(percent % 100 === 0 ? 0 : 1.5);
});

test('a share that grows keeps all that were in it', () => {
  const small = enforced(10);
  const large = new Set(enforced(20));
  expect(small.every((merchant) => large.has(merchant))).toBe(true);
});

test('the share is the same in every process and release', () => {
  // If these change, other merchants are limited after an update than before it.
  expect(enforced(1).slice(0, 4)).toEqual(['merchant-155', 'merchant-187', 'merchant-342', 'merchant-389']);
});

test('another rule has another share', () => {
  const both = new Set(enforced(10, '17'));
  expect(enforced(10, '18').filter((merchant) => both.has(merchant)).length).toBeLessThan(300);
});

test('the share is taken of bucket keys: of addresses, where the key has the address', () => {
  const modes = new Set(
    Array.from({ length: 50 }, (_, i) =>
      modeOf({ id: '1', key: ['merchant', 'ip'], mode: { enforcePercent: 50 } }, request('acme', `192.0.2.${i}`)),
    ),
  );
  expect(modes.size).toBe(2);
});
