import * as fc from 'fast-check';
import { runs } from '#limiter/testing';
import type { MadeDecision } from '../decisions/decision.js';
import { decisionText, shownDecision } from './shown-decision.js';

const aText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '\u2028', '\ud800', '', '7', '__proto__', 'a b'),
);
const aNumber = fc.oneof(fc.nat(), fc.double(), fc.constantFrom(-0, NaN, Infinity, 1e21, 0.1));
const aWait = fc.oneof(aNumber, fc.constantFrom('never', 'unknown'));
const aHeader = fc.tuple(fc.oneof(aText, fc.constantFrom('RateLimit', 'RateLimit-Policy')), aText);
const aLimit = fc.record({
  rule: aText,
  name: aText,
  allowed: fc.boolean(),
  limit: aNumber,
  remaining: aNumber,
  retryAfterMs: aWait,
  resetAfterMs: aNumber,
});

const aDecision = fc
  .record({
    allowed: fc.boolean(),
    reason: fc.constantFrom('allowed', 'over_limit', 'store_unavailable'),
    status: fc.constantFrom(200, 429, 503),
    tightest: fc.option(fc.record({ rule: aText, ruleName: aText, limit: aNumber, remaining: aNumber, resetAfterMs: aNumber })),
    retryAfterMs: aWait,
    waitMs: aNumber,
    limits: fc.array(aLimit, { minLength: 1, maxLength: 3 }),
    headers: fc.array(aHeader, { maxLength: 4 }).map((pairs) => pairs.flat()),
    claim: fc.option(aText, { nil: undefined, freq: 8 }),
    outcome: fc.oneof(
      { weight: 8, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.constant({ fault: { rule: { id: '3' }, field: 'body', detail: 'is "wrong"' } }) },
    ),
  })
  .map(({ tightest, limits, ...rest }) => ({ ...rest, ...tightest, limits: tightest === null ? [] : limits }) as unknown as MadeDecision);

test('a decision is written as JSON.stringify writes it, whatever stands in it', () => {
  fc.assert(
    fc.property(aDecision, (decision) => expect(decisionText(decision)).toBe(JSON.stringify(shownDecision(decision)))),
    runs(100),
  );
});
