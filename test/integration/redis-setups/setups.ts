import { createRedis, failureOf } from '#limiter-redis';
import { freshRedisCluster } from '../../support/redis-cluster.js';
import { freshRedisProcess, IN_MEMORY, type RedisProcesses } from '../../support/redis-process.js';
import { freshSentinelGroup } from '../../support/redis-sentinel.js';
import { until } from '../../support/until.js';
import { makeRedisTls, type RedisTls } from '../../support/redis-tls.js';

export interface Setup {
  readonly url: string;
  /** With TLS: the same, but an authority is believed that has signed nothing there. */
  readonly untrustingUrl?: string | undefined;
  stop(): Promise<void>;
}

/** A server that speaks nothing but TLS, and its certificate's authority. */
export async function secureRedis(): Promise<
  Setup & { readonly port: number; readonly processes: RedisProcesses; readonly caFile: string }
> {
  let tls: RedisTls | undefined;
  const server = await freshRedisProcess((port, processes) => [...(tls = makeRedisTls(processes)).args(port), ...IN_MEMORY]);
  const url = `rediss://127.0.0.1:${server.port}`;
  return { ...server, url: url + tls!.parameters, untrustingUrl: url + tls!.ofAnother, caFile: tls!.caFile };
}

/** A server that everybody needs a user for, with a password that has to be escaped. */
async function redisWithUser(): Promise<Setup> {
  const server = await freshRedisProcess((port) => [
    ...['--port', port, '--user', 'tollgate', 'on', '>p@ss:w/rd', '~*', '&*', '+@all', '--user', 'default', 'off'],
    ...IN_MEMORY,
  ]);
  return { ...server, url: `redis://tollgate:${encodeURIComponent('p@ss:w/rd')}@127.0.0.1:${server.port}/3` };
}

/** How Redis is run. */
export const SETUPS: readonly (readonly [name: string, start: () => Promise<Setup>])[] = [
  ['a Redis with an ACL user and a database', redisWithUser],
  ['a Redis with TLS', secureRedis],
  // Without TLS both are in the tests of failovers.
  ['a Sentinel group with TLS and an ACL user', () => freshSentinelGroup({ login: ['tollgate', 's3cret@'], tls: true })],
  ['a cluster of three masters with TLS', () => freshRedisCluster({ tls: true })],
];

/** Why a connection fails. No password is told. */
export async function firstCode(url: string): Promise<string> {
  const errors: Error[] = [];
  const redis = createRedis(url, 'limiter', { onError: (error) => errors.push(error) });
  try {
    // Of several nodes it is known at first only that there is no connection.
    const { code, said } = await until(
      'the connection fails for a reason',
      () => errors.map(failureOf).find((failure) => failure.code !== 'DISCONNECTED') ?? null,
      30_000,
    );
    expect(redis.status).not.toBe('ready');
    expect(said).not.toContain('hunter2');
    return code;
  } finally {
    redis.disconnect();
  }
}
