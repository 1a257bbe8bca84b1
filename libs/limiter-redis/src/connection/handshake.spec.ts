import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { HANDSHAKE_SILENCE_MS, watchHandshake } from './handshake.js';

class FakeConnection extends EventEmitter {
  stream = {
    bytesRead: 0,
    destroyed: false,
    destroy(this: { destroyed: boolean }) {
      this.destroyed = true;
    },
  };
}

/** Waits of the test, which end when it says so. */
class FakeTime {
  waits: { ms: number; callback: () => void }[] = [];

  after(ms: number, callback: () => void): () => void {
    const wait = { ms, callback };
    this.waits.push(wait);
    return () => void (this.waits = this.waits.filter((each) => each !== wait));
  }

  pass(): void {
    for (const { callback } of this.waits.splice(0)) callback();
  }
}

let redis: FakeConnection;
let time: FakeTime;

beforeEach(() => {
  redis = new FakeConnection();
  time = new FakeTime();
  watchHandshake(redis as unknown as Redis, time);
});

test('a connection that is silent before it is ready is given up', () => {
  redis.emit('connect');
  expect(time.waits.map(({ ms }) => ms)).toEqual([HANDSHAKE_SILENCE_MS]);
  time.pass();
  expect(redis.stream.destroyed).toBe(true);
});

test('a connection on which bytes arrive gets the same time again', () => {
  redis.emit('connect');
  redis.stream.bytesRead = 10;
  time.pass();
  expect(redis.stream.destroyed).toBe(false);
  time.pass();
  expect(redis.stream.destroyed).toBe(true);
});

test.each(['ready', 'close', 'end'])('a connection is no longer watched after %s', (event) => {
  redis.emit('connect');
  redis.emit(event);
  expect(time.waits).toEqual([]);
});

test('the next connection is watched on its own', () => {
  redis.emit('connect');
  const first = redis.stream;
  redis.emit('close');
  redis.stream = new FakeConnection().stream;
  redis.emit('connect');
  time.pass();
  expect([first.destroyed, redis.stream.destroyed]).toEqual([false, true]);
});
