import { startLimits } from '../limits/limit-edit.js';
import type { LimitSpec } from '../limits/limit-fields.js';
import { burst } from '../../testing/index.js';
import { overrideFactor, type OverrideNumbers } from './override.js';

const BURST = burst({ capacity: 10, refillTokens: 4 });
const DAY: LimitSpec = { name: 'a day', algorithm: 'fixed_window', limit: 0, windowMs: 86_400_000, start: 'clock' };

const numbers = (limitId: number, replaced: Record<string, number>): OverrideNumbers => ({ limits: [{ limitId, numbers: replaced }] });

describe('overrideFactor', () => {
  it.each<[string, OverrideNumbers, number]>([
    ['of multiply is what it says', { multiply: 7 }, 7],
    ['of a larger capacity', numbers(0, { capacity: 15 }), 1.5],
    ['of a larger refill, though the capacity shrinks', numbers(0, { capacity: 5, refillTokens: 40 }), 10],
    ['of smaller numbers is below 1', numbers(0, { capacity: 5, refillTokens: 2 }), 0.5],
    ['of one number that shrinks, while the other stays', numbers(0, { capacity: 5 }), 1],
    ['of a number that was 0 has no bound', numbers(1, { limit: 1 }), Infinity],
    ['of the number that stands', numbers(1, { limit: 0 }), 1],
  ])('%s', (_title, override, factor) => {
    expect(overrideFactor({ limits: startLimits([BURST, DAY], 0) }, override)).toBe(factor);
  });
});
