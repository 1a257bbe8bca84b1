import { createRedis, GatheredReads } from '#limiter-redis';
import { RunningTime } from '#waiting';
import { FakeHeart } from '../../../libs/waiting/testing/fake-heart.js';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';

const { server, redis } = await redisForFile();

const textOf = (bytes: Buffer): string => bytes.toString();

test('each read gets the text of its own key, in whatever company', async () => {
  await redis.mset('a', 'one', 'b', 'two', 'long', 'x'.repeat(100));
  await redis.rpush('list', 'no text');
  const reads = new GatheredReads(redis, 9);
  const first = reads.read('a').then(textOf);
  const others = ['b', 'missing', 'long', 'a'].map((key) => reads.read(key).then(textOf));
  const list = expect(reads.read('list')).rejects.toThrow('WRONGTYPE');
  expect(await first).toBe('one');
  expect(await Promise.all(others)).toEqual(['two', '', 'x'.repeat(10), 'one']);
  await list;
});

const calls = async (): Promise<number> => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

test('what is asked for while a read is under way goes together, and the next one after an idle moment at once', async () => {
  const reads = new GatheredReads(redis, 9, { betweenCallsMs: 0 });
  await reads.read('a');
  const before = await calls();
  await Promise.all(Array.from({ length: 100 }, (_, i) => reads.read(`many ${i}`)));
  expect(await calls()).toBe(before + 2);
  await reads.read('a');
  expect(await calls()).toBe(before + 3);
});

test('what one call brings is handed out some at a time, so that what has arrived meanwhile is looked at in between', async () => {
  const reads = new GatheredReads(redis, 9, { betweenCallsMs: 0 });
  const first = reads.read('a');
  const handedOut = [0];
  const nextTurn = (): void => {
    handedOut.push(0);
    turn = setImmediate(nextTurn);
  };
  let turn = setImmediate(nextTurn);
  await Promise.all(Array.from({ length: 100 }, () => reads.read('b').then(() => handedOut[handedOut.length - 1]!++)));
  clearImmediate(turn);
  await first;
  expect(handedOut.reduce((sum, each) => sum + each)).toBe(100);
  expect(Math.max(...handedOut)).toBeLessThanOrEqual(8);
});

test('what is asked for soon after a call waits for the next one, in which all goes that came meanwhile', async () => {
  const reads = new GatheredReads(redis, 9, { betweenCallsMs: 200 });
  await reads.read('a');
  const before = await calls();
  const soon = reads.read('a');
  await redis.ping();
  const later = reads.read('b');
  expect((await Promise.all([soon, later])).map(textOf)).toEqual(['one', 'two']);
  expect(await calls()).toBe(before + 1);
});

test('what waits for a Redis that does not answer is bounded, and goes on when it does', async () => {
  await redis.call('CLIENT', 'PAUSE', '300', 'ALL');
  const reads = new GatheredReads(redis, 9);
  const first = reads.read('a');
  const waiting = Array.from({ length: 10_000 }, () => reads.read('b'));
  await expect(reads.read('c')).rejects.toThrow('too many reads are waiting for Redis');
  expect(textOf(await first)).toBe('one');
  expect(new Set((await Promise.all(waiting)).map(textOf))).toEqual(new Set(['two']));
});

test('reads of a connection that is closed fail, and those of the next one do not', async () => {
  const other = createRedis(server.url, 'limiter');
  await until('the connection is ready', () => other.status === 'ready');
  const reads = new GatheredReads(other, 9);
  other.disconnect();
  await Promise.all([1, 2, 3].map((i) => expect(reads.read(`key ${i}`)).rejects.toThrow()));
  await until('the connection has ended', () => other.status === 'end');
  await other.connect();
  expect(textOf(await reads.read('a'))).toBe('one');
  other.disconnect();
});

test('while Redis is silent, reads fail after one deadline for all of them, and further ones at once until it has answered', async () => {
  const heart = new FakeHeart();
  const reads = new GatheredReads(redis, 9, { deadlineMs: 15, time: new RunningTime(heart) });
  await redis.set('a', 'one');
  server.freeze();
  try {
    const failed: string[] = [];
    const read = (name: string) => void reads.read('a').catch((error: Error) => failed.push(`${name}: ${error.message}`));
    read('sent');
    for (let i = 0; i < 3; i++) heart.pass(5);
    read('waiting');
    expect(failed).toEqual([]);
    heart.pass(5);
    read('late');
    await new Promise((resolve) => setImmediate(resolve));
    const why = 'Redis has not answered in time';
    expect(failed).toEqual([`sent: ${why}`, `waiting: ${why}`, `late: ${why}`]);
  } finally {
    server.thaw();
  }
  await until('reads are answered again', () =>
    reads.read('a').then(
      (bytes) => textOf(bytes) === 'one',
      () => false,
    ),
  );
});
