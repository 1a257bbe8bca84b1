import { startLimits, StoreUnavailableError, type TakeOutcome } from '#limiter';
import { asking, bucketTake } from '#limiter/testing';
import { RedisBucketStore } from '#limiter-redis';
import { RunningTime } from '#waiting';
import { FakeHeart } from '../../../libs/waiting/testing/fake-heart.js';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';

const { server, redis } = await redisForFile();

const [limit] = startLimits(
  [{ name: 'l', algorithm: 'token_bucket', capacity: 1000, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
  0,
);

function setUp() {
  const heart = new FakeHeart();
  const available: boolean[] = [];
  const store = new RedisBucketStore(redis, { deadlineMs: 25, time: new RunningTime(heart), onAvailability: (now) => available.push(now) });
  const outcomes: TakeOutcome[] = [];
  const take = (): void => store.take(asking([bucketTake('k', limit!, 1)]), (outcome) => void outcomes.push(outcome));
  return { heart, available, store, outcomes, take };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a take is late after its deadline in running time, however long the process was held up meanwhile', async () => {
  const { heart, available, store, outcomes, take } = setUp();
  server.freeze();
  try {
    take();
    await turn();
    for (const heldUpMs of [5000, 100, 5, 5]) heart.pass(heldUpMs);
    expect({ outcomes, available }).toEqual({ outcomes: [], available: [] });
    heart.pass(5);
    heart.pass(5);
    expect(outcomes).toEqual([expect.any(StoreUnavailableError)]);
    expect(available).toEqual([false]);
  } finally {
    server.thaw();
    store.close();
  }
});

test('takes that wait for a call are late as well, in the order in which they came', async () => {
  const { heart, store, outcomes, take } = setUp();
  server.freeze();
  try {
    // Four calls of 128 are under way, the others wait.
    for (let i = 0; i < 600; i++) take();
    await turn();
    for (let i = 0; i < 3; i++) heart.pass(5);
    for (let i = 0; i < 10; i++) take();
    for (let i = 0; i < 3; i++) heart.pass(5);
    expect(outcomes).toHaveLength(600);
    for (let i = 0; i < 3; i++) heart.pass(5);
    expect(outcomes).toHaveLength(610);
  } finally {
    server.thaw();
    store.close();
  }
});

test('a take behind a call that Redis does not answer waits no longer than that call', async () => {
  const { heart, available, store, outcomes, take } = setUp();
  // What other tests have asked for is answered.
  await redis.ping();
  server.freeze();
  try {
    store.watch(redis.get('rules').then(() => {}));
    await turn();
    for (let i = 0; i < 4; i++) heart.pass(5);
    take();
    await turn();
    expect(outcomes).toEqual([]);
    for (let i = 0; i < 2; i++) heart.pass(5);
    expect(outcomes).toEqual([expect.any(StoreUnavailableError)]);
    expect(available).toEqual([false]);
  } finally {
    server.thaw();
    store.close();
  }
});

test('a call that is not answered says nothing about a Redis that has sent something meanwhile', async () => {
  const { heart, available, store } = setUp();
  store.watch(new Promise(() => {}));
  await redis.ping();
  for (let i = 0; i < 10; i++) heart.pass(5);
  expect(available).toEqual([]);
  store.close();
});

test('after an answer the clock of the store stands still', async () => {
  const { heart, store, outcomes, take } = setUp();
  take();
  await until('the take is answered', () => outcomes.length === 1);
  expect(outcomes[0]).not.toBeInstanceOf(Error);
  heart.pass(5);
  expect(heart.beating).toBe(false);
  store.close();
});
