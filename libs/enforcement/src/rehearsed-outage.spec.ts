import type { Verdict } from '#limiter';
import { rehearseOutage } from './rehearsed-outage.js';

test('an outage is rehearsed by rules that act as while Redis is away, with buckets of its own', () => {
  const seen: string[] = [];
  rehearseOutage((outcome) => {
    const { source, reason } = outcome as Verdict;
    seen.push(`${source}: ${reason}`);
  });
  const times = [...new Set(seen)].map((each) => [each, seen.filter((other) => other === each).length]);
  expect(times).toEqual([
    ['local: allowed', 10],
    ['none: store_unavailable', 30],
    ['local: over_limit', 20],
  ]);
});
