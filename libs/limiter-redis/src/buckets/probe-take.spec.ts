import { MemoryBucketStore } from '#limiter';
import { FakeClock, isAllowed, taken } from '#limiter/testing';
import { probeOf } from './probe-take.js';

test('a probe is never refused and always writes, even a hundred thousand at once', async () => {
  const clock = new FakeClock(1_700_000_000_000);
  const store = new MemoryBucketStore(clock.now);
  let refused = 0;
  for (let i = 0; i < 100_000; i++) if (!isAllowed(await taken(store, probeOf('probe').takes))) refused++;
  expect(refused).toBe(0);
});
