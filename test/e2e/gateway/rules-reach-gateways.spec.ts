import { editLimits } from '#limiter';
import { changeCounterOf, CHANGE_COUNTERS_KEY } from '#limiter-redis';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;
let gateways: RunningApp[];

beforeAll(async () => {
  house = await House.open();
  gateways = await Promise.all([house.gateway({ STORE_TIMEOUT_MS: '5000' }), house.gateway({ STORE_TIMEOUT_MS: '5000' })]);
});

afterAll(() => house.close());

/** The rule with its limit's numbers edited now. */
function edited(old: ReturnType<typeof rule>, numbers: { capacity?: number; refillTokens?: number }): ReturnType<typeof rule> {
  const { id: _id, generation: _generation, since: _since, previous: _previous, ...spec } = old.limits[0]!;
  return { ...old, limits: editLimits(old.limits, [{ ...spec, ...numbers }], Date.now()) };
}

async function everywhere(merchant: string, policy: string): Promise<void> {
  for (const gateway of gateways) {
    await until(async () => expect((await house.send(gateway, merchant)).headers['ratelimit-policy']).toBe(policy));
  }
}

test('an edit is enforced by every gateway, hands out nothing, and fails no request', async () => {
  const first = rule({ capacity: 10, refillTokens: 1, refillIntervalMs: 600_000 });
  await house.write('edited', [first]);
  for (let i = 0; i < 12; i++) await house.send(gateways[i % 2]!, 'edited');

  let current = first;
  const statuses: number[] = [];
  const editing = new AbortController();
  const hammer = (async () => {
    while (!editing.signal.aborted) statuses.push((await house.send(gateways[statuses.length % 2]!, 'edited')).status);
  })();
  for (const capacity of [1000, 20, 500, 700, 30]) {
    current = edited(current, { capacity });
    await house.write('edited', [current]);
    const answered = statuses.length;
    await until('requests are answered between the edits', () => statuses.length >= answered + 20);
  }
  editing.abort();
  await hammer;
  // The bucket was empty before the edits and refills one in ten minutes: nothing passes, and nothing breaks.
  expect(new Set(statuses)).toEqual(new Set([429]));
  await everywhere('edited', '"burst";q=30;w=18000');
});

test('an edit whose message was lost is enforced as well', async () => {
  const first = rule({ capacity: 10 });
  await house.write('unheard', [first]);
  await everywhere('unheard', '"burst";q=10;w=2');
  await house.write('unheard', [edited(first, { capacity: 20 })], { announce: false });
  // What announce() does, less the message.
  await house.redis.hincrby(CHANGE_COUNTERS_KEY, changeCounterOf('unheard'), 1);
  await everywhere('unheard', '"burst";q=20;w=4');
});

test('a gateway that heard nothing at all learns of newer rules from the bucket', async () => {
  const first = rule({ capacity: 10, refillTokens: 1, refillIntervalMs: 600_000 });
  await house.write('by bucket', [first]);
  await house.send(gateways[0]!, 'by bucket');
  const third = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  await house.write('by bucket', [edited(first, { capacity: 15 })], { announce: false });
  expect((await house.send(third, 'by bucket')).headers['ratelimit']).toMatch(/^"burst";r=8/);
  const told = await house.send(gateways[0]!, 'by bucket');
  expect(told.status).toBe(200);
  expect(told.headers['ratelimit-policy']).toBe('"burst";q=15;w=9000');
  expect(told.headers['ratelimit']).toMatch(/^"burst";r=7/);
});

test('an older snapshot that comes late changes nothing', async () => {
  const snapshot = await house.write('late', [rule({ capacity: 10 })]);
  await house.write('late', [rule({ capacity: 11, id: '2' })]);
  expect(await house.snapshots.write([snapshot], 3_600_000)).toEqual({ written: 0, newer: 1 });
  expect((await house.send(gateways[0]!, 'late')).headers['ratelimit-policy']).toBe('"burst";q=11;w=3');
});
