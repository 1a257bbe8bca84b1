import { CHANGES_CHANNEL, ChangeFeed, createRedis, RedisSnapshotStore } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { Forwarder } from '../../support/forwarder.mjs';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

/** Gateways learn of rule changes again, whatever became of their connections. */

let server: TestRedis;
let successor: TestRedis;
/** One for each connection, so that one of them can be hurt alone. */
let forwarder: Forwarder;
let subscriberForwarder: Forwarder;
let redis: Redis;
let subscriber: Redis;
let feed: ChangeFeed;
let messages: (string | null)[];
let plans: (string | null)[];
let polled: number;
const undo: (() => void)[] = [];

beforeAll(async () => {
  [server, successor] = await Promise.all([freshRedis(), freshRedis()]);
});

afterAll(() => Promise.all([server.stop(), successor.stop()]));

beforeEach(async () => {
  [forwarder, subscriberForwarder] = await Promise.all([Forwarder.to(server.port), Forwarder.to(server.port)]);
  redis = createRedis(forwarder.url, 'limiter');
  subscriber = createRedis(subscriberForwarder.url, 'subscriber');
  await until('the connections are ready', () => redis.status === 'ready' && subscriber.status === 'ready');
  messages = [];
  plans = [];
  polled = 0;
  feed = new ChangeFeed(
    redis,
    subscriber,
    { changed: (merchantId) => messages.push(merchantId), plansChanged: (plan) => plans.push(plan), changedSome: () => polled++ },
    50,
  );
  await feed.start();
  undo.push(() => {
    feed.stop();
    redis.disconnect();
    subscriber.disconnect();
    forwarder.close();
    subscriberForwarder.close();
  });
  await announced(server, 'first');
});

afterEach(() => undo.splice(0).forEach((each) => each()));

test('what is no message of ours is ignored, and the next one is heard', async () => {
  const publisher = createRedis(server.url, 'limiter');
  await until('the connection is ready', () => publisher.status === 'ready');
  for (const odd of ['x', '', '{', '{"merchantId":"acme"}', '[1]', '7', 'true', '"acme', '\u0000', '"'.repeat(100_000)])
    await publisher.publish(CHANGES_CHANNEL, odd);
  await announced(server, 'after them');
  // It may be announced more than once until it is heard.
  expect(new Set(messages.filter((message) => message !== 'first'))).toEqual(new Set(['after them']));
  publisher.disconnect();
});

/** Announces again and again until the feed has the message. */
async function announced(where: TestRedis, merchantId: string, withinMs = 10_000): Promise<void> {
  const connection = createRedis(where.url, 'limiter');
  try {
    await until('the connection is ready', () => connection.status === 'ready');
    const ask = async (): Promise<boolean> => {
      await new RedisSnapshotStore(connection).announce([merchantId]);
      return messages.includes(merchantId);
    };
    await until(`the message about ${merchantId} comes`, ask, withinMs);
  } finally {
    connection.disconnect();
  }
}

test('a connection that only listens is replaced when nothing comes back', async () => {
  subscriberForwarder.swallow();
  await announced(server, 'swallowed', 15_000);
});

test('a connection that only listens hears again soon after its way was black for long', async () => {
  const before = subscriberForwarder.accepted;
  subscriberForwarder.blackHole();
  await until('new connections are tried, and not answered either', () => subscriberForwarder.accepted >= before + 2, 20_000);
  subscriberForwarder.open();
  await announced(server, 'back', 3_000);
});

test('the plan that changed is heard by its name, and nobody else is concerned', async () => {
  const publisher = createRedis(server.url, 'limiter');
  await until('the connection is ready', () => publisher.status === 'ready');
  messages = [];
  for (const odd of ['{"plan":"No Name"}', '{"plan":7}', '{}']) await publisher.publish(CHANGES_CHANNEL, odd);
  plans = [];
  await new RedisSnapshotStore(publisher).announcePlans(['pro']);
  await until('the message is heard, and the counter is seen', () => plans.includes('pro') && plans.includes(null));
  expect(new Set(plans)).toEqual(new Set(['pro', null]));
  expect(messages).toEqual([]);
  publisher.disconnect();
});

test('a change of a plan whose message was lost is found by its counter', async () => {
  subscriberForwarder.swallow();
  const publisher = createRedis(server.url, 'limiter');
  await until('the connection is ready', () => publisher.status === 'ready');
  plans = [];
  await new RedisSnapshotStore(publisher).announcePlans(['pro']);
  await until('the counter is seen', () => plans.length > 0);
  expect(plans[0]).toBeNull();
  publisher.disconnect();
});

test('polls go on after nothing came back', async () => {
  forwarder.swallow();
  await announced(server, 'unseen');
  const before = polled;
  await until('a poll brings a change', () => polled > before, 15_000);
});

test('a change that was announced to nobody before the first poll that is answered is learned from that poll, as soon as Redis is there', async () => {
  const early = createRedis(forwarder.url, 'limiter');
  const concerned: boolean[] = [];
  const changedSome = (concerns: (merchantId: string) => boolean, defaults: boolean) => concerned.push(concerns('acme') && defaults);
  const second = new ChangeFeed(
    early,
    subscriber,
    { changed: () => {}, plansChanged: (plan) => concerned.push(plan === null), changedSome },
    3_600_000,
  );
  undo.push(() => {
    second.stop();
    early.disconnect();
  });
  // The connection is not there yet: this poll fails, and what a gateway reads meanwhile may change unheard.
  await second.start();
  expect(concerned).toEqual([]);
  await second.firstAnswer;
  expect(concerned).toEqual([true, true]);
});

test('a read that was under way does not wait for ever', async () => {
  forwarder.swallow();
  let outcome: string | null = null;
  void new RedisSnapshotStore(redis).read('acme').then(
    () => (outcome = 'answered'),
    () => (outcome = 'failed'),
  );
  expect(await until('the read ends', () => outcome, 15_000)).toBe('failed');
});

test('the one that only listens follows when the one that asks is led to another server', async () => {
  for (const each of [forwarder, subscriberForwarder]) each.moveTo(successor.port);
  redis.stream.destroy();
  await announced(successor, 'moved');
});
