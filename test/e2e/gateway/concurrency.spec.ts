import { request } from 'node:http';
import { startLimits, type Rule } from '#limiter';
import type { RunningApp } from '../../support/processes.js';
import { rule } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { House } from './house.js';

let house: House;
let gateways: RunningApp[];

const SLOTS = 3;

/** @param slotTimeoutMs long, where a test must not depend on it */
function limited(slotTimeoutMs = 600_000): Rule {
  return rule({ limits: startLimits([{ name: 'at once', algorithm: 'concurrency', limit: SLOTS, slotTimeoutMs }], Date.now()) });
}

beforeAll(async () => {
  house = await House.open();
  gateways = [await house.gateway({ STORE_TIMEOUT_MS: '5000' }), await house.gateway({ STORE_TIMEOUT_MS: '5000' })];
});
afterAll(() => house.close());
afterEach(() => {
  for (const answer of house.held.splice(0)) answer();
});

/** A request that the upstream holds; `abort` is what a client does that goes away. */
function hold(gateway: RunningApp, merchantId: string): { status: Promise<number>; abort: () => void } {
  const sent = request(`${gateway.url}/hold`, { headers: { 'x-merchant-id': merchantId }, agent: false });
  const status = new Promise<number>((resolve) => {
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0));
  });
  sent.end();
  return { status, abort: () => sent.destroy() };
}

const statusOf = async (gateway: RunningApp, merchantId: string) => (await house.send(gateway, merchantId)).status;
const freed = (merchantId: string) => until('a slot is free', async () => (await statusOf(gateways[1]!, merchantId)) === 200, 10_000);

async function filled(merchantId: string): Promise<ReturnType<typeof hold>[]> {
  const before = house.held.length;
  const requests = Array.from({ length: SLOTS }, (_, i) => hold(gateways[i % 2]!, merchantId));
  await until('all are at the upstream', () => house.held.length === before + SLOTS, 10_000);
  expect(await statusOf(gateways[0]!, merchantId)).toBe(429);
  return requests;
}

test('at most so many are in flight, through however many gateways, and the refusal says of what', async () => {
  await house.write('busy', [limited()]);
  const before = house.held.length;
  let refusals = 0;
  const requests = Array.from({ length: 20 }, (_, i) => hold(gateways[i % 2]!, 'busy'));
  for (const { status } of requests) void status.then((code) => (refusals += Number(code === 429)));
  await until('those that pass are at the upstream', () => house.held.length === before + SLOTS, 10_000);
  // One that is decided about after a slot is free passes.
  await until('all others are refused', () => refusals === 20 - SLOTS, 10_000);
  const refused = await house.send(gateways[0]!, 'busy');
  expect(refused).toMatchObject({
    status: 429,
    headers: {
      'ratelimit-policy': '"at once";q=3;qu="concurrent-requests"',
      ratelimit: expect.stringMatching(/^"at once";r=0;t=\d+$/) as string,
    },
  });
  for (const answer of house.held.splice(0)) answer();
  const statuses = await Promise.all(requests.map(({ status }) => status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(SLOTS);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - SLOTS);
});

test('a slot is free again when the response ends', async () => {
  await house.write('ends', [limited()]);
  const requests = await filled('ends');
  house.held.shift()!();
  expect(await Promise.race(requests.map(({ status }) => status))).toBe(200);
  await freed('ends');
});

test('a slot is free again when the client goes away', async () => {
  await house.write('aborts', [limited()]);
  const [first] = await filled('aborts');
  first!.abort();
  await freed('aborts');
});

test('slots of a gateway that is killed time out', async () => {
  await house.write('dies', [limited(2_000)]);
  const doomed = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  const before = house.held.length;
  for (let i = 0; i < SLOTS; i++) hold(doomed, 'dies');
  await until('all are at the upstream', () => house.held.length === before + SLOTS, 10_000);
  await doomed.kill();
  await freed('dies');
});
