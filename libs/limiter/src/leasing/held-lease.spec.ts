import { burst, startedLimit } from '../../testing/index.js';
import { bucketOf } from '../bucket.js';
import type { Lent } from '../lend.js';
import { HeldLease } from './held-lease.js';

const bucket = bucketOf(startedLimit(burst({ capacity: 1000, refillTokens: 1000 }), 0));
const at = { nowMs: 0, wallMs: 0 };
const lent = (numbers: Partial<Lent>): Lent => ({
  kept: 0,
  granted: 0,
  charged: 0,
  forUs: 1_000_000,
  level: { debtUs: 0, part: 0 },
  lentElsewhere: 0,
  ...numbers,
});

/** A lease of a hundred tokens that has been reported again, and of which some were spent since. */
function reported(spentSince: number): HeldLease {
  const lease = new HeldLease('k', bucket, 1000);
  lease.sent(0);
  lease.granted(lent({ granted: 100 }), 1_000_000, at, 100, at);
  lease.sent(0);
  lease.spend(spentSince);
  return lease;
}

test.each([
  { kept: 100, spentSince: 30, held: 70, lapsed: 0 },
  { kept: 0, spentSince: 30, held: 0, lapsed: 70 },
  { kept: 60, spentSince: 30, held: 30, lapsed: 40 },
  { kept: 0, spentSince: 0, held: 0, lapsed: 100 },
])('of a hundred tokens of which the store knows $kept, and of which $spentSince were spent meanwhile, $held may be spent', (row) => {
  const lease = reported(row.spentSince);
  expect(lease.granted(lent({ kept: row.kept }), 1_000_000, at, 0, at)).toBe(row.lapsed);
  expect(lease.held).toBe(row.held);
});

test('what is left in headers is what is held beside what the store has said, and never more than the capacity', () => {
  const lease = new HeldLease('k', bucket, 1000);
  lease.sent(0);
  lease.granted(lent({ granted: 100, level: { debtUs: 150_000, part: 0 } }), 1_000_000, at, 100, at);
  expect(lease.levelFor(1)).toMatchObject({ debtUs: 50_000 });
  lease.spend(1);
  expect(lease.levelFor(1)).toMatchObject({ debtUs: 51_000 });
  expect(reported(0).levelFor(1)).toMatchObject({ debtUs: 0 });
});

test('a lease ends when its time is over since it was asked for, not since the answer', () => {
  for (const late of [
    { nowMs: 1000, wallMs: 300 },
    { nowMs: 300, wallMs: 1000 },
  ]) {
    const lease = new HeldLease('k', bucket, 1000);
    lease.sent(0);
    lease.granted(lent({ granted: 100 }), 1_000_000, at, 100, { nowMs: 300, wallMs: 300 });
    expect([lease.expire({ nowMs: 999, wallMs: 999 }), lease.held]).toEqual([0, 100]);
    expect([lease.expire(late), lease.held]).toEqual([100, 0]);
  }
});

test('what was held is not spent once its time is over, although it was renewed in an answer that came later', () => {
  const lease = reported(0);
  const late = { nowMs: 1100, wallMs: 1100 };
  expect(lease.granted(lent({ kept: 100, granted: 50 }), 2_000_000, { nowMs: 900, wallMs: 900 }, 50, late)).toBe(100);
  expect(lease.held).toBe(50);
});
