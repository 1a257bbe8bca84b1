import { FairShare } from './fair-share.js';
import { type MerchantLoad, MerchantLoads } from './merchant-load.js';

const UPSTREAM = {};

function forwardOne(loads: MerchantLoads, key: string): MerchantLoad {
  const load = loads.enter(key)!;
  load.in(UPSTREAM);
  loads.leave(load);
  return load;
}

test('a merchant gets its share of the requests in flight, and one that comes later gets its own', () => {
  const loads = new MerchantLoads(new FairShare(100, 1));
  const taken = Array.from({ length: 100 }, () => loads.enter('greedy')).filter((load) => load !== null);
  expect(taken).toHaveLength(50);
  expect(loads.enter('other')).not.toBeNull();
  loads.leave(taken[0]!);
  expect(loads.enter('other')).toMatchObject({ key: 'other', inFlight: 2 });
});

test('a bounded number of idle merchants is remembered, even of a million', () => {
  const loads = new MerchantLoads(new FairShare(100, 1));
  for (let i = 0; i < 1_000_000; i++) forwardOne(loads, `m${i}`);
  expect(loads.size).toBeLessThanOrEqual(4_100);
  expect(loads.size).toBeGreaterThan(4_000);
});

test('an id whose requests were all refused is not remembered, and one that was forwarded is, whatever becomes of its later requests', () => {
  const loads = new MerchantLoads(new FairShare(100, 1));
  for (let i = 0; i < 100; i++) loads.leave(loads.enter(`nobody${i}`)!);
  expect(loads.size).toBe(0);
  const load = forwardOne(loads, 'acme');
  loads.leave(loads.enter('acme')!);
  expect([loads.size, loads.enter('acme')]).toEqual([1, load]);
});

test('a merchant whose request is gone, but not its slot, is not forgotten', () => {
  const loads = new MerchantLoads(new FairShare(100, 1));
  for (let i = 0; i < 5_000; i++) forwardOne(loads, `m${i}`);
  const load = loads.enter('slow')!;
  load.slots = 1;
  loads.leave(load);
  expect(loads.enter('slow')).toBe(load);
  loads.leave(load);
  load.slots = 0;
  loads.forgetIdle(load);
  expect(loads.enter('slow')).not.toBe(load);
});

test('a merchant holds slots of each upstream by itself, and is remembered while it holds any', () => {
  const load = new MerchantLoads(new FairShare(10, 1)).enter('acme')!;
  const [a, b] = [{}, {}];
  const [inA, inB] = [load.in(a), load.in(b)];
  inA.slots += 2;
  inB.slots++;
  expect([inA.slots, inB.slots, load.slots]).toEqual([2, 1, 3]);
  expect([load.in(a), load.in(b), load.in(b), load.in(a)]).toEqual([inA, inB, inB, inA]);
  inA.slots--;
  inB.slots--;
  expect([inA.slots, inB.slots, load.slots, inA.weight]).toEqual([1, 0, 1, 1]);
});
