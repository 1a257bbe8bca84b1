import { EventEmitter } from 'node:events';
import { jest } from '@jest/globals';
import { RunningTime } from '#waiting';
import type { Redis } from 'ioredis';
import { watchHeartbeat } from './heartbeat.js';

class FakeConnection extends EventEmitter {
  status = 'ready';
  pings = 0;
  answer: () => Promise<string> = () => Promise.resolve('PONG');
  stream = this.newStream();
  destroyed: object[] = [];

  ping(): Promise<string> {
    this.pings++;
    return this.answer();
  }

  newStream(): { destroy: () => void } {
    const stream = { destroy: () => void this.destroyed.push(stream) };
    return stream;
  }
}

let redis: FakeConnection;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  redis = new FakeConnection();
  watchHeartbeat(redis as unknown as Redis, new RunningTime());
});

afterEach(() => {
  redis.emit('end');
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const nothing = (): Promise<string> => new Promise(() => {});

test('a connection that answers is left alone', async () => {
  await pass(60_000);
  expect([redis.pings, redis.destroyed]).toEqual([60, []]);
});

test('a connection without an answer to two beats is given up', async () => {
  redis.answer = nothing;
  await pass(5900);
  expect(redis.destroyed).toEqual([]);
  await pass(200);
  expect(redis.destroyed).toEqual([redis.stream]);
});

test('a connection that does not become ready is given up, and its successor is not blamed for it', async () => {
  redis.status = 'connect';
  const [first, second] = [redis.stream, redis.newStream()];
  await pass(1500);
  redis.stream = second;
  await pass(1000);
  expect(redis.destroyed).toEqual([]);
  await pass(1000);
  expect(redis.destroyed).toEqual([second]);
  expect(first).not.toBe(second);
});

test('an error that Redis answers with is an answer', async () => {
  redis.answer = () =>
    Promise.reject(Object.assign(new Error("NOPERM this user has no permissions to run the 'ping' command"), { name: 'ReplyError' }));
  await pass(10_000);
  expect(redis.destroyed).toEqual([]);
});

test('a ping that cannot be sent is not counted as missed', async () => {
  redis.answer = () => Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
  await pass(2100);
  expect(redis.destroyed).toHaveLength(1);
});

test('the heartbeat ends with its connection', async () => {
  redis.emit('end');
  await pass(10_000);
  expect(redis.pings).toBe(0);
});
