import { burst } from '#limiter/testing';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;

beforeAll(async () => (house = await House.open()));
afterAll(() => house.close());

const local = () =>
  ruleSpec({
    onStoreFailure: 'local',
    limits: [burst({ capacity: 9, refillTokens: 1, refillIntervalMs: 3_600_000 })],
    match: { methods: ['GET'], paths: [] },
  });

const counted = (gateway: RunningApp, count: number) =>
  until(`it counts ${count} gateways`, async () => (await house.metric(gateway, /^tollgate_live_gateways\b/)) === count, 20_000);

/** Reads the rules into a gateway, and takes nothing: no rule is for this method. */
async function known(gateway: RunningApp, merchant: string): Promise<void> {
  await until('the rules are known', async () => (await house.send(gateway, merchant, { method: 'OPTIONS' })).status === 200, 10_000);
}

async function admitted(gateway: RunningApp, merchant: string): Promise<number> {
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await house.send(gateway, merchant)).status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  return statuses.filter((status) => status === 200).length;
}

let gateways: RunningApp[] = [];

test('while Redis is away the gateways that were alive share the limit; joins and leaves count', async () => {
  gateways = [await house.gateway()];
  const [first] = gateways as [RunningApp];
  await counted(first, 1);
  const second = await house.gateway();
  gateways.push(second);
  await Promise.all(gateways.map((gateway) => counted(gateway, 2)));

  await house.store({ two: [local()], one: [local()] });
  for (const gateway of gateways) for (const merchant of ['two', 'one']) await known(gateway, merchant);
  await house.redisServer.kill();
  expect([await admitted(first, 'two'), await admitted(second, 'two')]).toEqual([4, 4]);
  // However long it is away: gateways do not die of it.
  expect(await house.metric(first, /^tollgate_live_gateways\b/)).toBe(2);

  await house.redisServer.restart();
  await until('it is back', async () => (await house.metric(first, /^tollgate_store_available\b/)) === 1, 10_000);
  await counted(first, 2);
  await second.stop();
  gateways.pop();
  await counted(first, 1);
  await house.redisServer.kill();
  expect(await admitted(first, 'one')).toBe(9);
  // Of what it has spent among two it has spent as much alone: eight of nine, half of which were this gateway's.
  expect(await admitted(first, 'two')).toBe(9 - 8);
});

test('a gateway that was killed is forgotten', async () => {
  await house.redisServer.restart();
  const [stays, dies] = [gateways[0]!, await house.gateway()];
  await Promise.all([counted(stays, 2), counted(dies, 2)]);
  await dies.kill();
  await counted(stays, 1);
});
