import type { MadeDecision } from '../decisions/decision.js';
import { answerForProxy } from './answer-for-proxy.js';
import type { Call } from './call.js';

const HEADERS = ['RateLimit', '"queue";r=0;t=60'];
const WAITS = { allowed: true, reason: 'allowed', status: 200, waitMs: 60_000, headers: HEADERS } as unknown as MadeDecision;

/** Answers of a door whose decisions are all this one. */
function asking(decision: MadeDecision, left: AbortSignal) {
  const givenBack: MadeDecision[] = [];
  const decisions = { check: () => Promise.resolve(decision), giveBack: (each: MadeDecision) => void givenBack.push(each) };
  const door = { decisions: decisions as never, limit: { demand: () => {} } as never, headersOf: () => [] };
  return { givenBack, answer: answerForProxy({ merchant: 'acme' }, { left, caller: 'x', requestId: 'r' } as unknown as Call, door) };
}

test('a proxy that leaves while its request waits its turn gets what was taken given back, and no permission', async () => {
  const proxy = new AbortController();
  const { givenBack, answer } = asking(WAITS, proxy.signal);
  proxy.abort();
  expect((await answer).status).toBe(503);
  expect(givenBack).toEqual([WAITS]);
});

test('a request that need not wait passes with the headers of its limits, and is charged', async () => {
  const { givenBack, answer } = asking({ ...WAITS, waitMs: 0 }, new AbortController().signal);
  expect(await answer).toEqual({ status: 200, headers: HEADERS });
  expect(givenBack).toEqual([]);
});
