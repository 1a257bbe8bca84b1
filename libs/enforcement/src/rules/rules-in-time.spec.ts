import { RunningTime } from '#waiting';
import { FakeHeart } from '../../../waiting/testing/fake-heart.js';
import { rulesInTime } from './rules-in-time.js';

const TAKE_MS = 25;
const NEVER = new Promise<string>(() => {});

/** After how long rules that never come are given up, if Redis turns out to be away after so long; by the clock, on an idle machine. */
async function givenUpAfterMs(awayAfterMs: number, takeMs = TAKE_MS): Promise<number> {
  const heart = new FakeHeart();
  const given = { upAtMs: NaN };
  rulesInTime(NEVER, () => heart.now() < awayAfterMs, takeMs, { time: new RunningTime(heart) }).catch(() => (given.upAtMs = heart.now()));
  while (Number.isNaN(given.upAtMs) && heart.now() < 10_000) {
    heart.pass(5, 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return given.upAtMs;
}

test('while Redis is away, rules get no longer than a take', async () => {
  expect(await givenUpAfterMs(0)).toBe(25);
});

test('a request that finds Redis frozen, and a rule source that is silent as well, waits for a tenth of a second and not for two', async () => {
  expect(await givenUpAfterMs(30)).toBe(100);
});

test('where Redis answers, rules may take their time', async () => {
  expect(await givenUpAfterMs(Infinity)).toBe(2000);
  expect(await givenUpAfterMs(Infinity, 5000)).toBe(2000);
});

test('rules that come are passed on, and so is what went wrong', async () => {
  const options = { time: new RunningTime(new FakeHeart()) };
  expect(await rulesInTime(Promise.resolve('rules'), () => true, TAKE_MS, options)).toBe('rules');
  await expect(rulesInTime(Promise.reject(new Error('too many')), () => true, TAKE_MS, options)).rejects.toThrow('too many');
});
