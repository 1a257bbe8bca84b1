import { NO_MATCHING_RULE } from '#limiter';
import { RULES_UNAVAILABLE } from '../outcome.js';
import { ReceiptQueue } from './receipt-queue.js';

const of = (merchantId: string) => ({ merchantId, ip: '192.0.2.7', method: 'GET', target: '/' });

function bed(options: { perSecond?: number; passedOneIn?: number; random?: () => number } = {}) {
  const clock = { nowMs: 0 };
  const queue = new ReceiptQueue({
    perSecond: 20,
    passedOneIn: 0,
    isMerchant: (id) => !id.startsWith('nobody'),
    now: () => clock.nowMs,
    ...options,
  });
  const refuse = (merchantId: string, times = 1) => {
    for (let i = 0; i < times; i++) queue.offer(`r${i}`, of(merchantId), RULES_UNAVAILABLE);
  };
  return { clock, queue, refuse };
}

test('every refusal is noted as long as there are few', () => {
  const { queue, refuse } = bed();
  refuse('a', 3);
  refuse('b');
  expect(queue.take().map(({ descriptor }) => descriptor.merchantId)).toEqual(['a', 'a', 'a', 'b']);
  expect(queue.take()).toEqual([]);
});

test('a flood of one merchant leaves room for the others, in each second', () => {
  const { clock, queue, refuse } = bed({ perSecond: 20 });
  refuse('loud', 1000);
  refuse('quiet', 3);
  expect(queue.take()).toHaveLength(5 + 3);
  expect(queue.notNoted).toEqual({ merchant_rate: 995, rate: 0, queue_full: 0 });
  clock.nowMs = 1000;
  refuse('loud', 10);
  expect(queue.take()).toHaveLength(5);
});

test('ids that belong to nobody have one share together, so that a flood of them leaves the rest to merchants', () => {
  const { queue, refuse } = bed({ perSecond: 20 });
  for (let i = 0; i < 1000; i++) refuse(`nobody ${i}`);
  refuse('quiet', 3);
  expect(queue.take()).toHaveLength(5 + 3);
  expect(queue.notNoted).toEqual({ merchant_rate: 995, rate: 0, queue_full: 0 });
});

test('a flood of merchants is bounded by the second', () => {
  const { queue, refuse } = bed({ perSecond: 20 });
  for (let i = 0; i < 1000; i++) refuse(`random ${i}`);
  expect(queue.take()).toHaveLength(20);
  expect(queue.notNoted.rate).toBe(980);
});

test('a sample of the requests that passed is noted, as large as configured on average', () => {
  const { queue } = bed({ perSecond: 2000, passedOneIn: 10 });
  for (let i = 0; i < 4000; i++) queue.offer('r', of(`m${i}`), NO_MATCHING_RULE);
  const { length } = queue.take();
  expect(length).toBeGreaterThan(300);
  expect(length).toBeLessThan(500);
});

test.each([
  ['of none that passed, if that is what was asked for', 20, 0, NO_MATCHING_RULE],
  ['of nothing at all, if they are turned off', 0, 1, RULES_UNAVAILABLE],
])('%s', (_what, perSecond, passedOneIn, verdict) => {
  const { queue } = bed({ perSecond, passedOneIn });
  for (let i = 0; i < 100; i++) queue.offer('r', of('a'), verdict);
  expect(queue.take()).toEqual([]);
});

test('requests that passed use up at most half of each bound, and leave the rest to refusals', () => {
  const { queue, refuse } = bed({ perSecond: 40, passedOneIn: 1 });
  for (let i = 0; i < 100; i++) queue.offer('r', of('m'), NO_MATCHING_RULE);
  refuse('m', 100);
  expect(queue.take().map(({ outcome }) => outcome.allowed)).toEqual([...Array<boolean>(5).fill(true), ...Array<boolean>(5).fill(false)]);
});

test('a request without an id is not noted', () => {
  const { queue } = bed();
  queue.offer('', of('a'), RULES_UNAVAILABLE);
  expect(queue.take()).toEqual([]);
});

test('while Redis is away a bounded number of receipts waits, and the rest is counted', () => {
  const { clock, queue, refuse } = bed({ perSecond: 4 });
  for (let second = 0; second < 10; second++) {
    clock.nowMs = 1000 * second;
    for (const merchantId of ['a', 'b', 'c', 'd']) refuse(merchantId);
    queue.putBack(queue.take());
  }
  expect(queue.take()).toHaveLength(20);
  expect(queue.notNoted.queue_full).toBe(20);
});
