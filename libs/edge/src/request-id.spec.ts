import { createRequestIds, isRequestId } from './request-id.js';

it('makes ids that are valid, and different in each process', () => {
  const here = createRequestIds();
  const there = createRequestIds();
  const ids = [here(), here(), here(), there(), there()];
  expect(new Set(ids).size).toBe(5);
  expect(ids.every(isRequestId)).toBe(true);
});

it.each(['', 'a b', 'a\n', 'ä', '{a}', 'a"', 'x'.repeat(65)])('refuses %j', (id) => {
  expect(isRequestId(id)).toBe(false);
});
