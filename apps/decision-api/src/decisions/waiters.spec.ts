import type { CheckRequest } from './check-request.js';
import type { MadeDecision } from './decision.js';
import { TooManyWaitingError, Waiters, type WaitersOptions } from './waiters.js';

const ALLOWED = { allowed: true, retryAfterMs: 0 } as MadeDecision;
const refused = (retryAfterMs: MadeDecision['retryAfterMs']) => ({ allowed: false, retryAfterMs }) as MadeDecision;

/** Answers one after the other, the last one for ever; time passes only while somebody sleeps. */
function house(answers: readonly MadeDecision[], options: Partial<WaitersOptions> = {}) {
  let nowMs = 1_000;
  let asked = 0;
  const slept: number[] = [];
  const givenBack: MadeDecision[] = [];
  const decisions = {
    check: (_request: CheckRequest) => Promise.resolve(answers[Math.min(asked++, answers.length - 1)]!),
    giveBack: (decision: MadeDecision) => void givenBack.push(decision),
  };
  const waiters = new Waiters({
    decisions,
    most: 20,
    maxWaitMs: 10_000,
    stopping: new AbortController().signal,
    nowMs: () => nowMs,
    sleep: (ms) => {
      slept.push(ms);
      nowMs += ms;
      return Promise.resolve();
    },
    ...options,
  });
  return { waiters, slept, givenBack, asked: () => asked };
}

const HERE = new AbortController().signal;
const REQUEST: CheckRequest = { merchant: 'acme' };

test('what passes at once does not wait', async () => {
  const { waiters, slept } = house([ALLOWED]);
  expect(await waiters.wait(REQUEST, 1_000, HERE)).toBe(ALLOWED);
  expect(slept).toEqual([]);
});

test('a call waits as long as it is told, and again if others were faster', async () => {
  const { waiters, slept } = house([refused(300), refused(200), ALLOWED]);
  expect(await waiters.wait(REQUEST, 1_000, HERE)).toBe(ALLOWED);
  expect(slept).toEqual([300, 200]);
  expect(waiters.count).toBe(0);
});

test.each([
  ['tokens come too late', refused(1_001)],
  ['it costs more than the limit ever allows', refused('never')],
  ['nobody can say when', refused('unknown')],
])('a call is answered at once when %s', async (_when, answer) => {
  const { waiters, slept } = house([answer]);
  expect(await waiters.wait(REQUEST, 1_000, HERE)).toBe(answer);
  expect(slept).toEqual([]);
});

test('a call that is refused over and over ends with its time, and does not spin', async () => {
  const { waiters, slept, asked } = house([refused(0)]);
  expect((await waiters.wait(REQUEST, 100, HERE)).allowed).toBe(false);
  expect(new Set(slept)).toEqual(new Set([5]));
  expect(asked()).toBe(21);
});

test('nobody waits longer than the operator allows', async () => {
  const { waiters, slept } = house([refused(10_001)]);
  await waiters.wait(REQUEST, 300_000, HERE);
  expect(slept).toEqual([]);
});

test('nothing is taken for a caller that has left, or while this process ends', async () => {
  for (const end of ['left', 'stopping'] as const) {
    const ending = new AbortController();
    let sleeps = 0;
    const sleep = () => {
      if (++sleeps === 2) ending.abort();
      return Promise.resolve();
    };
    const last = refused(200);
    const { waiters, asked } = house([refused(300), last, ALLOWED], { sleep, ...(end === 'stopping' && { stopping: ending.signal }) });
    expect(await waiters.wait(REQUEST, 1_000, end === 'left' ? ending.signal : HERE)).toBe(last);
    expect([asked(), waiters.count]).toEqual([2, 0]);
  }
});

test('what was taken while its caller left is given back', async () => {
  const leaving = new AbortController();
  const answers = [refused(10), ALLOWED];
  const givenBack: MadeDecision[] = [];
  const decisions = {
    check: () => {
      if (answers.length === 1) leaving.abort();
      return Promise.resolve(answers.shift()!);
    },
    giveBack: (decision: MadeDecision) => void givenBack.push(decision),
  };
  const { waiters } = house([], { decisions });
  expect((await waiters.wait(REQUEST, 1_000, leaving.signal)).allowed).toBe(false);
  expect(givenBack).toEqual([ALLOWED]);
});

test('places are bounded, in all and for each merchant, and come free', async () => {
  const leaving = new AbortController();
  const sleep = (_ms: number, signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const { waiters } = house([refused(10)], { sleep, most: 20 });
  const wait = (merchant: string) => waiters.wait({ merchant }, 10, leaving.signal);
  const some = [wait('a'), wait('a')];
  await expect(wait('a')).rejects.toThrow(TooManyWaitingError);
  for (const merchant of 'bcdefghij') some.push(wait(merchant), wait(merchant));
  await expect(wait('k')).rejects.toThrow(TooManyWaitingError);
  expect(waiters.count).toBe(20);
  leaving.abort();
  expect((await Promise.all(some)).map(({ allowed }) => allowed)).toEqual(Array<boolean>(20).fill(false));
  expect(waiters.count).toBe(0);
});

test('with 0 places nobody waits', async () => {
  await expect(house([refused(10)], { most: 0 }).waiters.wait(REQUEST, 10, HERE)).rejects.toThrow(TooManyWaitingError);
});
