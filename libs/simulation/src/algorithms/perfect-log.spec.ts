import { PerfectLog } from './perfect-log.js';
import { stateBytes } from './state-size.js';

const minute = (limit: number): PerfectLog => new PerfectLog({ limit, windowMs: 60_000 });

describe('the perfect log', () => {
  it('L1: lets nothing more pass until the first request is one window old', () => {
    const log = minute(10);
    for (let i = 0; i < 10; i++) expect(log.take(1, 30_000 + i * 3000)).toBe(true);
    expect([log.take(1, 89_999.999), log.take(1, 90_000), log.take(1, 90_000)]).toEqual([false, true, false]);
  });

  it('L3: counts both of two requests of the same microsecond', () => {
    const log = minute(10);
    log.take(1, 0.001);
    log.take(4, 0.001);
    expect([log.used(60_000), log.used(60_000.001)]).toEqual([5, 0]);
  });

  it('takes nothing when it refuses', () => {
    const log = minute(3);
    expect([log.take(2, 0), log.take(2, 1), log.used(1), log.take(1, 2)]).toEqual([true, false, 2, true]);
  });
});

test('the size of a state is that of its numbers', () => {
  expect([
    stateBytes(undefined),
    stateBytes({ whole: 1, part: 2 }),
    stateBytes({ counts: [1, 2, 3], startUs: 4 }),
    stateBytes(new Float64Array(5)),
  ]).toEqual([0, 16, 32, 40]);
});
