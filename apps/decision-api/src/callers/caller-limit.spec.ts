import { CallerLimit } from './caller-limit.js';

test('a caller may ask for as many decisions as it has, and others are not concerned', () => {
  let nowMs = 1_763_000_000_000;
  const limit = new CallerLimit(10, () => nowMs);
  limit.demand('a', 10);
  expect(() => limit.demand('a', 1)).toThrow(expect.objectContaining({ status: 429, headers: { 'retry-after': '1' } }));
  limit.demand('b', 10);
  nowMs += 500;
  limit.demand('a', 5);
  expect(() => limit.demand('a', 1)).toThrow(expect.objectContaining({ code: 'decision_api.caller_over_limit' }));
});

test('a batch that is larger than a caller may ever ask for is refused without a time', () => {
  expect(() => new CallerLimit(10).demand('a', 11)).toThrow(expect.objectContaining({ status: 429, headers: {} }));
});

test('with 0 nobody is limited', () => {
  const limit = new CallerLimit(0);
  for (let i = 0; i < 100; i++) limit.demand('a', 1_000_000);
});
