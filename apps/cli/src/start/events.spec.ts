import { eventOf, EventPrinter } from './events.js';

describe('the events of npm start', () => {
  it.each([
    [
      { level: 'info', msg: 'request', method: 'PUT', route: '/v1/merchants/:id/rules/:ruleId', status: 200 },
      'PUT /v1/merchants/:id/rules/:ruleId was answered with 200',
    ],
    [{ level: 'info', msg: 'request', method: 'GET', path: '/transactions', status: 429 }, 'GET /transactions was answered with 429'],
    [
      { level: 'warn', msg: 'Redis is away', err: { message: 'connect ECONNREFUSED\nmore' } },
      'warning: Redis is away (connect ECONNREFUSED)',
    ],
    [{ level: 'error', msg: 'request failed' }, 'ERROR: request failed'],
    [{ level: 'info', msg: 'full preload done', merchants: 2 }, 'has carried 2 merchants to Redis'],
    [{ level: 'info', msg: 'something of no interest' }, undefined],
    [{ level: 'debug', msg: 'request' }, undefined],
    [{}, undefined],
  ])('%j tells %j', (line, event) => {
    expect(eventOf(line)).toBe(event);
  });

  it('tells what repeats itself now and then, and how often it came', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const events = new EventPrinter(
      (line) => lines.push(line.slice('00:00:00  '.length)),
      () => nowMs,
    );
    for (nowMs = 0; nowMs < 10_000; nowMs += 1000) events.tell('gateway', `slow answer after ${nowMs} ms`);
    expect(lines).toEqual(['gateway    slow answer after 0 ms']);
    events.tell('gateway', 'slow answer after 7 ms');
    events.tell('preloader', 'another');
    expect(lines.slice(1)).toEqual(['gateway    slow answer after 7 ms (and 9 times like this before)', 'preloader  another']);
  });
});
