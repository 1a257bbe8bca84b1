import { MeasuredSpareCapacity } from './spare-capacity.js';

/** A gateway that measures when it is told to, and the load that it is told of. */
function meter(capacityPerSecond = 100) {
  const state = { nowMs: 0, load: { perSecond: 0, gateways: 1 }, away: false, errors: 0, reported: [] as number[] };
  const spare = new MeasuredSpareCapacity({
    capacityPerSecond,
    report: (perSecond) => {
      state.reported.push(perSecond);
      return state.away ? Promise.reject(new Error('Redis is away')) : Promise.resolve(state.load);
    },
    upstreamErrors: () => state.errors,
    now: () => state.nowMs,
  });
  const measure = async (fields: Partial<typeof state> = {}): Promise<number> => {
    Object.assign(state, fields);
    state.nowMs += 1000;
    await spare.measure();
    return spare.left;
  };
  return { spare, state, measure };
}

test('there is no spare capacity before the first measurement', () => {
  const { spare } = meter();
  expect(spare.reserve()).toBe(0);
});

test('spare capacity is what the upstream can carry less what all gateways forward, in equal shares', async () => {
  const { measure } = meter(100);
  expect(await measure({ load: { perSecond: 40, gateways: 1 } })).toBe(60);
  expect(await measure({ load: { perSecond: 40, gateways: 4 } })).toBe(15);
  expect(await measure({ load: { perSecond: 97, gateways: 4 } })).toBe(0);
  expect(await measure({ load: { perSecond: 500, gateways: 1 } })).toBe(0);
});

test('spare capacity is used up request by request, and what was not needed comes back', async () => {
  const { spare, measure } = meter(2);
  await measure();
  const [first, second] = [spare.reserve(), spare.reserve()];
  expect([first > 0, second > 0, spare.reserve()]).toEqual([true, true, 0]);
  spare.giveBack(first);
  expect(spare.left).toBe(1);
  await measure();
  spare.giveBack(second);
  expect(spare.left).toBe(2);
});

test('a gateway reports its requests a second, only those within the limits', async () => {
  const { spare, state, measure } = meter();
  for (let i = 0; i < 30; i++) spare.countForwarded();
  await measure();
  spare.reserve();
  state.nowMs += 1000;
  for (let i = 0; i < 30; i++) spare.countForwarded();
  await measure();
  expect(state.reported).toEqual([30, 15]);
});

test('there is no spare capacity without a measurement, or after a second in which the upstream failed', async () => {
  const { measure } = meter(100);
  expect(await measure()).toBe(100);
  expect(await measure({ away: true })).toBe(0);
  expect(await measure({ away: false, errors: 1 })).toBe(0);
  expect(await measure()).toBe(100);
});
