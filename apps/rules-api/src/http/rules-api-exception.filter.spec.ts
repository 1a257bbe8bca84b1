import { PoolBusyError } from '#rules-db';
import { asProblem } from './rules-api-exception.filter.js';

it('a request that finds too many others waiting for the database is answered 503, and told when to repeat', () => {
  expect(asProblem(new PoolBusyError(100))).toMatchObject({ status: 503, code: 'database.busy', headers: { 'retry-after': '1' } });
});
