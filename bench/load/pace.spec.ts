import { jest } from '@jest/globals';
import { inTurn, Schedule } from './pace.mjs';

/** A gap is ten milliseconds with it: 100 a second, and -log(1 - x) is 1. */
const MEAN = 1 - 1 / Math.E;

/** All that is due now. */
function taken(schedule: Schedule, nowMs: number) {
  const requests = [];
  for (let each = schedule.take(nowMs); each !== undefined; each = schedule.take(nowMs)) requests.push(each);
  return requests;
}

describe('requests at a steady rate', () => {
  it('are due by and by, and none before its time', () => {
    const schedule = new Schedule(100, 1000, () => MEAN);
    expect(schedule.take(999)).toBeUndefined();
    expect(taken(schedule, 1000)).toHaveLength(1);
    expect(taken(schedule, 1009.9)).toHaveLength(0);
    expect(taken(schedule, 1030.1)).toHaveLength(3);
  });

  it('count from when they are asked if it is the generator that is late, which is told', () => {
    const schedule = new Schedule(100, 1000, () => MEAN);
    expect(schedule.take(1004)).toEqual({ sinceMs: 1004, lateMs: 4 });
  });

  it('count from when they were due if all connections were busy then', () => {
    const schedule = new Schedule(100, 1000, () => MEAN);
    schedule.blocked(1015);
    const [first, second, third] = taken(schedule, 1022);
    expect(first).toEqual({ sinceMs: 1000, lateMs: undefined });
    expect(second).toEqual({ sinceMs: expect.closeTo(1010), lateMs: undefined });
    // Due when a connection was free again.
    expect(third).toEqual({ sinceMs: 1022, lateMs: expect.closeTo(2) });
  });

  it('that a server cannot bear wait for a second at most', () => {
    const schedule = new Schedule(100, 1000, () => MEAN);
    schedule.blocked(61_000);
    const requests = taken(schedule, 61_000);
    expect(requests).toHaveLength(101);
    expect(requests[1]?.sinceMs).toBeCloseTo(60_010);
  });

  it('come as often as was asked for, at gaps that differ', () => {
    let state = 1;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const count = taken(new Schedule(20_000, 0, random), 999).length;
    expect(count).toBeGreaterThan(19_500);
    expect(count).toBeLessThan(20_500);
  });
});

test('the generator leaves its core to others while every connection is busy, and goes on with the next answer', async () => {
  const nextTurn = setImmediate;
  const turns = jest.spyOn(globalThis, 'setImmediate');
  const askedSince: number[] = [];
  const askInTurn = inTurn({ perSecond: 1_000_000, isOver: () => askedSince.length === 2 });
  const afterTurns = async (count: number) => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => nextTurn(resolve));
  };
  const askOnce = async () => {
    const already = askedSince.length;
    askInTurn((sinceMs) => askedSince.push(sinceMs));
    while (askedSince.length === already) await afterTurns(1);
  };
  await askOnce();
  const blockedAtMs = performance.now();
  await afterTurns(3);
  turns.mockClear();
  await afterTurns(100);
  expect(turns).not.toHaveBeenCalled();

  await askOnce();
  turns.mockRestore();
  // It was due long ago, and waited for the only connection.
  expect(askedSince[1]).toBeLessThan(blockedAtMs);
});
