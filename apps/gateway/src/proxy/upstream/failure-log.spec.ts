import { FailureLog } from './failure-log.js';

it('logs each kind of failure at most once a second, and says how many were left out', () => {
  const lines: object[] = [];
  const log = new FailureLog({ warn: (fields) => lines.push(fields), error: () => {} });
  const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (let ms = 0; ms <= 1000; ms += 100) log.add('connect', `r-${ms}`, error, ms);
  log.add('reset', 'r-x', new Error('gone'), 500);
  expect(lines).toEqual([
    { requestId: 'r-0', kind: 'connect', code: 'ECONNREFUSED', reason: 'connect ECONNREFUSED', leftOut: 0 },
    { requestId: 'r-1000', kind: 'connect', code: 'ECONNREFUSED', reason: 'connect ECONNREFUSED', leftOut: 9 },
    { requestId: 'r-x', kind: 'reset', code: undefined, reason: 'gone', leftOut: 0 },
  ]);
});
