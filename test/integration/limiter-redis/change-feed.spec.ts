import { CHANGES_CHANNEL, ChangeFeed, createRedis, RedisSnapshotStore } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { Forwarder } from '../../support/forwarder.mjs';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

/**
 * Gateways learn of rule changes again, whatever became of their connections. Each test has a Redis of its own, and waits most of the time: they
 * run at once.
 */

/** What a gateway hears, and the ways by which it hears. */
class Listener {
  readonly messages: (string | null)[] = [];
  readonly plans: (string | null)[] = [];
  polled = 0;

  private constructor(
    readonly server: TestRedis,
    /** One for each connection, so that one of them can be hurt alone. */
    readonly forwarder: Forwarder,
    readonly subscriberForwarder: Forwarder,
    readonly redis: Redis,
    readonly subscriber: Redis,
    private readonly undo: (() => unknown)[],
  ) {}

  /** It has heard of a first change when the test begins. */
  static async during(test: (listener: Listener) => Promise<void>): Promise<void> {
    const undo: (() => unknown)[] = [];
    const left = <T>(thing: T, leave: (thing: T) => unknown): T => {
      undo.unshift(() => leave(thing));
      return thing;
    };
    try {
      const server = left(await freshRedis(), (each) => each.stop());
      const [forwarder, subscriberForwarder] = [await Forwarder.to(server.port), await Forwarder.to(server.port)].map((each) =>
        left(each, () => each.close()),
      ) as [Forwarder, Forwarder];
      const redis = left(createRedis(forwarder.url, 'limiter') as Redis, (each) => each.disconnect());
      const subscriber = left(createRedis(subscriberForwarder.url, 'subscriber') as Redis, (each) => each.disconnect());
      await until('the connections are ready', () => redis.status === 'ready' && subscriber.status === 'ready');
      const listener = new Listener(server, forwarder, subscriberForwarder, redis, subscriber, undo);
      const { messages, plans } = listener;
      const feed = new ChangeFeed(
        redis,
        subscriber,
        {
          changed: (merchantId) => messages.push(merchantId),
          plansChanged: (plan) => plans.push(plan),
          changedSome: () => listener.polled++,
        },
        50,
      );
      left(feed, () => feed.stop());
      await feed.start();
      await listener.hears('first');
      await test(listener);
    } finally {
      for (const leave of undo) await leave();
    }
  }

  /** Ended with the test, before what is older. */
  left<T>(thing: T, leave: (thing: T) => unknown): T {
    this.undo.unshift(() => leave(thing));
    return thing;
  }

  /** A connection to the server that leads through no forwarder. */
  async publisher(server = this.server): Promise<Redis> {
    const publisher = this.left(createRedis(server.url, 'limiter') as Redis, (each) => each.disconnect());
    await until('the connection is ready', () => publisher.status === 'ready');
    return publisher;
  }

  /** Announces again and again until the feed has the message. */
  async hears(merchantId: string, { withinMs = 10_000, server = this.server } = {}): Promise<void> {
    const snapshots = new RedisSnapshotStore(await this.publisher(server));
    const ask = async (): Promise<boolean> => {
      // The publisher's connection may be replaced meanwhile, as every other.
      await snapshots.announce([merchantId]).catch(() => undefined);
      return this.messages.includes(merchantId);
    };
    await until(`the message about ${merchantId} comes`, ask, withinMs);
  }
}

const listening = (test: (listener: Listener) => Promise<void>) => () => Listener.during(test);

test.concurrent(
  'what is no message of ours is ignored, and the next one is heard',
  listening(async (listener) => {
    const publisher = await listener.publisher();
    for (const odd of ['x', '', '{', '{"merchantId":"acme"}', '[1]', '7', 'true', '"acme', '\u0000', '"'.repeat(100_000)])
      await publisher.publish(CHANGES_CHANNEL, odd);
    await listener.hears('after them');
    // It may be announced more than once until it is heard.
    expect(new Set(listener.messages.filter((message) => message !== 'first'))).toEqual(new Set(['after them']));
  }),
);

test.concurrent(
  'a connection that only listens is replaced when nothing comes back',
  listening(async (listener) => {
    listener.subscriberForwarder.swallow();
    await listener.hears('swallowed', { withinMs: 15_000 });
  }),
);

test.concurrent(
  'a connection that only listens hears again soon after its way was black for long',
  listening(async (listener) => {
    const { subscriberForwarder } = listener;
    const before = subscriberForwarder.accepted;
    subscriberForwarder.blackHole();
    await until('new connections are tried, and not answered either', () => subscriberForwarder.accepted >= before + 2, 20_000);
    subscriberForwarder.open();
    await listener.hears('back', { withinMs: 3_000 });
  }),
);

test.concurrent(
  'the plan that changed is heard by its name, and nobody else is concerned',
  listening(async (listener) => {
    const { messages, plans } = listener;
    const publisher = await listener.publisher();
    messages.length = 0;
    for (const odd of ['{"plan":"No Name"}', '{"plan":7}', '{}']) await publisher.publish(CHANGES_CHANNEL, odd);
    plans.length = 0;
    await new RedisSnapshotStore(publisher).announcePlans(['pro']);
    await until('the message is heard, and the counter is seen', () => plans.includes('pro') && plans.includes(null));
    expect(new Set(plans)).toEqual(new Set(['pro', null]));
    // The announcement of the beginning may have been on its way still.
    expect(messages.filter((message) => message !== 'first')).toEqual([]);
  }),
);

test.concurrent(
  'a change of a plan whose message was lost is found by its counter',
  listening(async (listener) => {
    const { plans } = listener;
    listener.subscriberForwarder.swallow();
    plans.length = 0;
    await new RedisSnapshotStore(await listener.publisher()).announcePlans(['pro']);
    await until('the counter is seen', () => plans.length > 0);
    expect(plans[0]).toBeNull();
  }),
);

test.concurrent(
  'polls go on after nothing came back',
  listening(async (listener) => {
    listener.forwarder.swallow();
    await listener.hears('unseen');
    const before = listener.polled;
    await until('a poll brings a change', () => listener.polled > before, 15_000);
  }),
);

test.concurrent(
  'a change that was announced to nobody before the first poll that is answered is learned from that poll, as soon as Redis is there',
  listening(async (listener) => {
    const early = listener.left(createRedis(listener.forwarder.url, 'limiter') as Redis, (each) => each.disconnect());
    const concerned: boolean[] = [];
    const changedSome = (concerns: (merchantId: string) => boolean, defaults: boolean) => concerned.push(concerns('acme') && defaults);
    const second = new ChangeFeed(
      early,
      listener.subscriber,
      { changed: () => {}, plansChanged: (plan) => concerned.push(plan === null), changedSome },
      3_600_000,
    );
    listener.left(second, (each) => each.stop());
    // The connection is not there yet: this poll fails, and what a gateway reads meanwhile may change unheard.
    await second.start();
    expect(concerned).toEqual([]);
    await second.firstAnswer;
    expect(concerned).toEqual([true, true]);
  }),
);

test.concurrent(
  'a read that was under way does not wait for ever',
  listening(async ({ forwarder, redis }) => {
    forwarder.swallow();
    let outcome: string | null = null;
    void new RedisSnapshotStore(redis).read('acme').then(
      () => (outcome = 'answered'),
      () => (outcome = 'failed'),
    );
    expect(await until('the read ends', () => outcome, 15_000)).toBe('failed');
  }),
);

test.concurrent(
  'the one that only listens follows when the one that asks is led to another server',
  listening(async (listener) => {
    const successor = listener.left(await freshRedis(), (each) => each.stop());
    for (const each of [listener.forwarder, listener.subscriberForwarder]) each.moveTo(successor.port);
    listener.redis.stream.destroy();
    await listener.hears('moved', { server: successor });
  }),
);
