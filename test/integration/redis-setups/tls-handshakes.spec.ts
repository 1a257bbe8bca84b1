import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createRedis } from '#limiter-redis';
import { until } from '../../support/until.js';
import { secureRedis, SETUPS } from './setups.js';

/**
 * A connection that is given up in its handshake ends nothing but itself: an error that nobody hears fails the test. Besides those that we open there are those that
 * the client library opens by itself: to Sentinels, to ask a cluster where its slots are, and to hear its messages.
 */

test.each(SETUPS.filter(([name]) => name.includes('TLS')))('%s that is not believed ends no process', async (_name, start) => {
  const setup = await start();
  try {
    for (const url of [setup.url, setup.untrustingUrl!]) {
      // At any moment of the handshakes.
      for (let ms = 0; ms < 20; ms++) {
        const redis = createRedis(url, 'limiter');
        await pause(ms);
        redis.disconnect();
      }
    }
    const last = createRedis(setup.untrustingUrl!, 'subscriber');
    let failures = 0;
    last.on('error', () => failures++);
    await until('several attempts failed', () => failures >= 5, 30_000);
    last.disconnect();
  } finally {
    await setup.stop();
  }
});

test('a second error of a connection that the client library opens by itself is heard', async () => {
  const server = await secureRedis();
  createRedis(server.url, 'limiter').disconnect();
  const redis = new Redis({ port: server.port, tls: { rejectUnauthorized: false }, retryStrategy: () => null });
  const told: string[] = [];
  redis.on('error', (error: Error) => told.push(error.message));
  try {
    await redis.ping();
    for (const message of ['the first', 'the second']) redis.stream.emit('error', new Error(message));
    expect(told).toEqual(['the first']);
  } finally {
    redis.disconnect();
    await server.stop();
  }
});
