import { jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { rateLimitHeaders } from '#edge';
import { NO_MATCHING_RULE, type AnswerFacts, type Verdict } from '#limiter';
import type { NodeResponse } from './node-http.js';
import { type Admission, Passages } from './passage.js';

/** A response as node has it, of which nothing is sent. */
class Response extends EventEmitter implements NodeResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  readonly headers: Record<string, string> = {};
  getHeader = (name: string) => this.headers[name];
  setHeader = (name: string, value: string) => void (this.headers[name] = value);
  write = (_chunk: unknown): boolean => (this.headersSent = true);
  end = (_chunk?: unknown): void => {
    this.headersSent = this.writableEnded = true;
    this.emit('finish');
    this.emit('close');
  };
}

function setUp({ maxWaiting = 10, waitMs = 0, readsAnswer = 'nothing' as 'nothing' | 'head' | 'body' } = {}) {
  const settled: (AnswerFacts | 'refunded')[] = [];
  const reservation = { readsAnswer, release: (facts: AnswerFacts) => settled.push(facts), refund: () => settled.push('refunded') };
  const verdict = { ...NO_MATCHING_RULE, waitMs, reservations: [reservation] } as unknown as Verdict;
  const passages = new Passages({ headersOf: rateLimitHeaders, maxWaiting });
  const begin = () => {
    const response = new Response();
    const told: (Admission | number)[] = [];
    const passage = passages.begin(response, 'r1', (admission) =>
      told.push(admission === 'gone' || admission.passes ? admission : admission.answer.status),
    );
    return { response, told, passage };
  };
  return { passages, begin, verdict, settled };
}

const PASSED = { passes: true, headers: [] };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('what a request took is settled once, when its answer has ended, with what is known of the answer', () => {
  const { begin, passages, settled, verdict } = setUp({ readsAnswer: 'head' });
  const { passage, response, told } = begin();
  passage.decided(verdict);
  expect([told, settled, passages.size]).toEqual([[PASSED], [], 1]);
  response.statusCode = 402;
  response.end();
  response.emit('close');
  passage.cut();
  expect(settled).toEqual([expect.objectContaining({ head: expect.objectContaining({ status: 402 }) })]);
  expect([told, passages.size]).toEqual([[PASSED], 0]);
});

test('an answer that has not begun when the client leaves is one that nobody knows', () => {
  const { begin, settled, verdict } = setUp({ readsAnswer: 'head' });
  const { passage, response } = begin();
  passage.decided(verdict);
  response.emit('close');
  expect(settled).toEqual([{}]);
});

test('the body of an answer is looked at while it is written, where a charge waits for it', () => {
  const { begin, settled, verdict } = setUp({ readsAnswer: 'body' });
  const { passage, response } = begin();
  passage.decided(verdict);
  response.setHeader('content-type', 'application/json');
  response.write('{ "outcome": ');
  response.end(Buffer.from('"declined" }'));
  const [facts] = settled as AnswerFacts[];
  expect(facts!.body?.valueOf('outcome')).toEqual('declined');
});

test('a client that leaves before the decision gets back what is taken for it, and nobody goes on', () => {
  const { begin, settled, verdict } = setUp();
  const { passage, response, told } = begin();
  response.emit('close');
  passage.decided(verdict);
  expect([told, settled]).toEqual([['gone'], ['refunded']]);
});

test('a request that somebody else has answered meanwhile does not go on', () => {
  const { begin, settled, verdict } = setUp();
  const { passage, response, told } = begin();
  response.headersSent = true;
  passage.decided(verdict);
  expect([told, settled]).toEqual([['gone'], ['refunded']]);
});

test('a request waits its turn, and gives it back if its client does not wait', () => {
  const { begin, passages, settled, verdict } = setUp({ waitMs: 500 });
  const [patient, impatient] = [begin(), begin()];
  patient.passage.decided(verdict);
  impatient.passage.decided(verdict);
  expect([patient.told, passages.waiting]).toEqual([[], 2]);
  impatient.response.emit('close');
  expect([impatient.told, settled, passages.waiting]).toEqual([['gone'], ['refunded'], 1]);
  jest.advanceTimersByTime(500);
  expect([patient.told, impatient.told, passages.waiting]).toEqual([[PASSED], ['gone'], 0]);
});

test('no more requests wait than may, and one more is refused without having cost anything', () => {
  const { begin, passages, settled, verdict } = setUp({ waitMs: 500, maxWaiting: 1 });
  const [first, second] = [begin(), begin()];
  first.passage.decided(verdict);
  second.passage.decided(verdict);
  expect([first.told, second.told, settled, passages.size]).toEqual([[], [503], ['refunded'], 1]);
});

test('a service that closes waits for what is under way, and for no longer than its grace', async () => {
  const { begin, passages, settled, verdict } = setUp({ waitMs: 500 });
  const [asking, waiting, quick] = [begin(), begin(), begin()];
  waiting.passage.decided(verdict);
  quick.passage.decided({ ...verdict, waitMs: 0 });
  let isClosed = false;
  const closing = passages.close(400, () => (isClosed = true));
  await jest.advanceTimersByTimeAsync(399);
  expect(isClosed).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  await closing;
  expect([asking.told, waiting.told, quick.told]).toEqual([[503], [503], [PASSED]]);
  // The one that was passing is charged: its handler had begun.
  expect(settled).toHaveLength(2);
  expect(settled).toEqual(expect.arrayContaining(['refunded', {}]));
  asking.passage.decided(verdict);
  expect(settled).toHaveLength(3);
});

test('a service with nothing under way closes at once', async () => {
  const { passages, begin, verdict } = setUp();
  const { passage, response } = begin();
  passage.decided(verdict);
  const closing = passages.close(1_000_000, () => {});
  response.end();
  await closing;
  await passages.close(1_000_000, () => {});
});
