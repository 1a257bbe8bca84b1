import { RunningTime } from '#waiting';
import { FakeHeart } from '../../../waiting/testing/fake-heart.js';
import { Hedge } from './hedge.js';

interface Question<T> {
  readonly promise: Promise<T>;
  answer(value: T): Promise<void>;
  fail(): Promise<void>;
}

/** What came of a promise, once everything that could happen has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function question<T>(): Question<T> {
  let answer!: (value: T) => void;
  let fail!: (error: Error) => void;
  const promise = new Promise<T>((resolve, reject) => ([answer, fail] = [resolve, reject]));
  return { promise, answer: (value) => (answer(value), settled()), fail: () => (fail(new Error('the second is away')), settled()) };
}

function setUp(atOnce = 1) {
  const heart = new FakeHeart();
  const hedge = new Hedge({ afterMs: 5, atOnce, time: new RunningTime(heart) });
  const begin = () => {
    const [first, second] = [question<string>(), question<string>()];
    let asked = 0;
    let outcome: { first: string | undefined; second: () => Promise<string> } | undefined;
    void hedge.sooner(first.promise, () => (asked++, second.promise)).then((sooner) => (outcome = sooner));
    return { first, second, asked: () => asked, outcome: () => outcome };
  };
  /** So long that the second one is asked where there is room. */
  const pass = () => {
    for (let i = 0; i < 3; i++) heart.pass(5, 0);
  };
  return { heart, begin, pass };
}

test('a first that answers soon is believed, and nobody asks the second', async () => {
  const { heart, begin } = setUp();
  const { first, asked, outcome } = begin();
  heart.pass(5, 0);
  await first.answer('found');
  expect(outcome()?.first).toBe('found');
  for (let i = 0; i < 5; i++) heart.pass(5, 0);
  expect([asked(), heart.beating]).toEqual([0, false]);
});

test('those that were answered soon leave room for one that is not', async () => {
  const { begin, pass } = setUp();
  for (let i = 0; i < 3; i++) await begin().first.answer('found');
  const { asked } = begin();
  pass();
  expect(asked()).toBe(1);
});

test('beside a silent first the second is asked once, and its answer counts', async () => {
  const { begin, pass } = setUp();
  const { second, asked, outcome } = begin();
  pass();
  expect([asked(), outcome()]).toEqual([1, undefined]);
  await second.answer('stored');
  expect([outcome()?.first, await outcome()?.second(), asked()]).toEqual([undefined, 'stored', 1]);
});

test('a first that has nothing leaves the word to the second that was asked meanwhile', async () => {
  const { begin, pass } = setUp();
  const { first, second, asked, outcome } = begin();
  pass();
  await first.answer('nothing');
  const said = outcome()!.second();
  await second.answer('stored');
  expect([outcome()?.first, await said, asked()]).toEqual(['nothing', 'stored', 1]);
});

test('a second that fails is no answer: the first is waited for, and whoever wants the second all the same learns of it', async () => {
  const { begin, pass } = setUp();
  const { first, second, asked, outcome } = begin();
  pass();
  await second.fail();
  expect(outcome()).toBeUndefined();
  await first.answer('found');
  expect(outcome()?.first).toBe('found');
  await expect(outcome()?.second()).rejects.toThrow('the second is away');
  expect(asked()).toBe(1);
});

test('only the first few of those who wait ask the second, and a place is free again when both have ended', async () => {
  const { begin, pass } = setUp(2);
  const [one, two, three] = [begin(), begin(), begin()];
  pass();
  expect([one.asked(), two.asked(), three.asked()]).toEqual([1, 1, 0]);
  await three.first.answer('found');
  expect([three.outcome()?.first, three.asked()]).toEqual(['found', 0]);
  await one.first.answer('found');
  // Its second is still asked: that is what is bounded.
  const four = begin();
  pass();
  expect(four.asked()).toBe(0);
  await one.second.answer('stored');
  await four.first.answer('found');
  const five = begin();
  pass();
  expect(five.asked()).toBe(1);
});
