import { request } from 'node:http';
import { startLimits } from '#limiter';
import { freePort } from '../../../scripts/ports.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
});
afterAll(() => house.close());

const HOUR_MS = 3_600_000;

test('a request that the upstream never saw gives back what it took', async () => {
  const nobody = await house.gateway({ STORE_TIMEOUT_MS: '5000', UPSTREAM_URL: `http://127.0.0.1:${await freePort()}` });
  await house.write('unlucky', [rule({ capacity: 3, refillTokens: 1, refillIntervalMs: HOUR_MS })]);
  for (let i = 0; i < 10; i++) {
    expect((await house.send(nobody, 'unlucky')).status).toBe(502);
    // The bucket is the instant at which it will be full, in microseconds.
    await until('it was given back', async () => Number(await house.redis.get('tg:{unlucky}1.0')) / 1000 < Date.now() + 1000, 10_000);
  }
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await house.send(gateway, 'unlucky')).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('a request that the upstream has seen is not refunded, though its client went away', async () => {
  await house.write('impatient', [rule({ capacity: 1, refillTokens: 1, refillIntervalMs: HOUR_MS })]);
  const client = request(`${gateway.url}/hold`, { headers: { 'x-merchant-id': 'impatient' }, agent: false }).on('error', () => {});
  client.end();
  await until('it is at the upstream', () => house.held.length === 1, 10_000);
  client.destroy();
  await until('the gateway has noticed', async () => (await house.metric(gateway, /^tollgate_requests_in_flight\b/)) === 0, 10_000);
  expect((await house.send(gateway, 'impatient')).status).toBe(429);
});

test('the last request of a queue that leaves it hands its place on', async () => {
  const limits = startLimits(
    [
      {
        name: 'smooth',
        algorithm: 'leaky_bucket',
        capacity: 2,
        drainTokens: 1,
        drainIntervalMs: 20_000,
        onLimit: { delay: { maxWaitMs: 30_000 } },
      },
    ],
    Date.now(),
  );
  await house.write('queue', [rule({ limits })]);
  expect((await house.send(gateway, 'queue')).status).toBe(200);
  const delayed = (count: number) =>
    until(`${count} wait or have waited`, async () => (await house.metric(gateway, /^tollgate_delayed_total\b/)) === count, 10_000);
  const join = () =>
    request(`${gateway.url}/transactions`, { headers: { 'x-merchant-id': 'queue' }, agent: false })
      .on('error', () => {})
      .end();
  const second = join();
  await delayed(1);
  expect((await house.send(gateway, 'queue')).status).toBe(429);
  second.destroy();
  await until('it has gone', async () => (await house.metric(gateway, /^tollgate_requests_in_flight\b/)) === 0, 10_000);
  const third = join();
  await delayed(2);
  third.destroy();
});
