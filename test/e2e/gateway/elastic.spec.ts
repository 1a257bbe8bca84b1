import { startLimits } from '#limiter';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;

beforeAll(async () => (house = await House.open()));
afterAll(() => house.close());

const elastic = () =>
  rule({
    limits: startLimits(
      [{ name: 'elastic', algorithm: 'fixed_window', limit: 3, windowMs: 86_400_000, start: 'first_request', throttle: 'elastic' }],
      Date.now(),
    ),
  });
const spare = (gateway: RunningApp) => house.metric(gateway, /^tollgate_spare_capacity\{/);

test('H2: more than the limit passes while there is spare capacity, and says so', async () => {
  const gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000', UPSTREAM_CAPACITY_PER_SECOND: '1000000' });
  await house.write('elastic', [elastic()]);
  await until('it has measured', async () => (await spare(gateway)) > 0, 10_000);
  const answers = [];
  for (let i = 0; i < 5; i++) answers.push(await house.send(gateway, 'elastic'));
  expect(answers.map(({ status, headers }) => [status, headers['x-ratelimit-over-limit']])).toEqual([
    [200, undefined],
    [200, undefined],
    [200, undefined],
    [200, '"elastic"'],
    [200, '"elastic"'],
  ]);
  expect(answers[4]!.headers['ratelimit']).toMatch(/^"elastic";r=0;t=\d+$/);
  expect(await house.metric(gateway, /^tollgate_spare_capacity_used_total\b/)).toBe(2);
  expect(await house.metric(gateway, /^tollgate_over_limit_total\b/)).toBe(2);

  // Another gateway that measures nothing: there it is hard, for the same bucket.
  const hard = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  expect((await house.send(hard, 'elastic')).status).toBe(429);
});

test('an elastic limit is hard while the upstream is at its capacity', async () => {
  const gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000', UPSTREAM_CAPACITY_PER_SECOND: '4' });
  await house.write('busy', [elastic()]);
  await house.write('others', [rule({ capacity: 1_000_000 })]);
  await until('it has measured', async () => (await spare(gateway)) > 0, 10_000);
  await until(
    'it has measured that others need it all',
    async () => {
      for (let i = 0; i < 20; i++) await house.send(gateway, 'others');
      return (await spare(gateway)) === 0;
    },
    10_000,
  );
  const statuses: number[] = [];
  const before = await house.metric(gateway, /^tollgate_spare_capacity_used_total\b/);
  for (let i = 0; i < 4; i++) {
    statuses.push((await house.send(gateway, 'busy')).status);
    for (let k = 0; k < 20; k++) await house.send(gateway, 'others');
  }
  expect(await house.metric(gateway, /^tollgate_spare_capacity_used_total\b/)).toBe(before);
  expect(statuses).toEqual([200, 200, 200, 429]);
});
