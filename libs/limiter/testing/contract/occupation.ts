import { editLimits, NewerRulesError, type Limit } from '../../src/index.js';
import { lendersOf, lentBy, type CreateLender } from '../lending.js';
import { burst, takeFrom } from '../takes.js';

const SECOND_US = 1_000_000;

/** How what is lent holds up the refill of a bucket. */
export function describeOccupation(create: CreateLender): void {
  const started = lendersOf(create);

  test('what is lent holds up the refill, until it is spent, given back or over', async () => {
    const { say, left, takes, clock } = await started(burst({ capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }));
    await say({ wants: 4, forUs: 3 * SECOND_US });
    await takes(6);
    clock.advance(1000);
    expect(await left()).toBe(5);
    clock.advance(1000);
    expect(await left()).toBe(6);
    // Two are spent: their room begins to refill now.
    await say({ sequence: 2, holds: 2, forUs: SECOND_US });
    expect(await left()).toBe(6);
    clock.advance(200);
    expect(await left()).toBe(7);
    clock.advance(10_000);
    // The lease was over after a second, long before anybody looked.
    expect(await left()).toBe(10);
  });

  test('a lease that nobody looks at begins to refill when it is over', async () => {
    const { say, left, clock } = await started(burst({ capacity: 10, refillTokens: 1, refillIntervalMs: 1000 }));
    await say({ wants: 5, forUs: 2 * SECOND_US });
    clock.advance(2000 + 2999);
    expect(await left()).toBe(7);
    clock.advance(1.001);
    expect(await left()).toBe(8);
  });

  test('a lease that was over before an edit has held up the refill until then', async () => {
    const { store, say, limit, clock } = await started(burst({ capacity: 10, refillTokens: 1, refillIntervalMs: 1000 }));
    await say({ wants: 5, forUs: 2 * SECOND_US });
    clock.advance(4000);
    const [larger] = editLimits([limit], [burst({ capacity: 20, refillTokens: 1, refillIntervalMs: 1000 })], clock.nowMs) as [Limit];
    expect((await takeFrom(store, [{ key: 'k', limit: larger, cost: 0 }]))[0]!.remaining).toBe(7);
  });

  test('a step of an interval fills all but what is lent, and the steps stay where they are', async () => {
    const { say, left, takes, clock } = await started(
      burst({ capacity: 10, refillTokens: 10, refillIntervalMs: 1000, refill: 'interval' }),
    );
    await say({ wants: 4, forUs: 10 * SECOND_US });
    await takes(6);
    clock.advance(999);
    expect(await left()).toBe(0);
    clock.advance(1);
    expect(await left()).toBe(6);
    clock.advance(900);
    await takes(6);
    clock.advance(100);
    expect(await left()).toBe(6);
  });

  test('a lease ends with its window, and the next one is whole', async () => {
    const { say, left, clock } = await started({ name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 1000, start: 'clock' });
    clock.advance(400);
    expect(await say({ wants: 5, forUs: 5 * SECOND_US })).toMatchObject({ granted: 5, forUs: 600_000 });
    clock.advance(599.999);
    expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 5 });
    clock.advance(0.001);
    expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 0 });
    expect(await left()).toBe(10);
  });

  test('a window that a grant opens lasts its length, and so does the lease at most', async () => {
    const { say, left, clock } = await started({
      name: 'l',
      algorithm: 'fixed_window',
      limit: 10,
      windowMs: 1000,
      start: 'first_request',
    });
    clock.advance(400);
    expect(await say({ wants: 5, forUs: 5 * SECOND_US })).toMatchObject({ granted: 5, forUs: SECOND_US });
    clock.advance(999.999);
    expect(await left()).toBe(5);
    clock.advance(0.001);
    expect(await left()).toBe(10);
  });

  test('a lease ends with the numbers of its bucket, where that is known beforehand', async () => {
    const { store, limit, clock } = await started(burst());
    const untilMs = clock.nowMs + 300;
    const timed = { ...limit, inForce: { untilMs, fillsAfterMs: 2000 } };
    expect(await lentBy(store, { limit: timed, wants: 5, forUs: SECOND_US })).toMatchObject({ granted: 5, forUs: 300_000 });
    clock.nowMs = untilMs;
    await expect(lentBy(store, { limit: timed, sequence: 2 })).rejects.toBeInstanceOf(NewerRulesError);
    expect(await lentBy(store, { limit, lessee: 2 })).toMatchObject({ lentElsewhere: 0 });
  });
}
