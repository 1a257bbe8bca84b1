import { createRedis, failureOf } from '#limiter-redis';
import { makeAuthority } from '../../support/certificates.js';
import { freshRedisCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { secureRedis } from './setups.js';

/** Why there is no connection is told by a code, and no password is. */

async function firstCode(url: string): Promise<string> {
  const errors: Error[] = [];
  const redis = createRedis(url, 'limiter', { onError: (error) => errors.push(error) });
  try {
    await until('the connection fails', () => errors.length > 0, 30_000);
    expect(redis.status).not.toBe('ready');
    const { code, said } = failureOf(errors[0]);
    expect(said).not.toContain('hunter2');
    return code;
  } finally {
    redis.disconnect();
  }
}

test('a server whose certificate somebody else has signed, or that has another name, gets no command', async () => {
  const server = await secureRedis();
  try {
    const other = server.processes.file('other.pem', makeAuthority('other').cert);
    const own = encodeURIComponent(server.caFile);
    const at = `rediss://:hunter2@127.0.0.1:${server.port}`;
    expect(await firstCode(`${at}?tlsCaFile=${encodeURIComponent(other)}&tlsServerName=redis.test`)).toBe('TLS');
    expect(await firstCode(`${at}?tlsServerName=redis.test`)).toBe('TLS');
    expect(await firstCode(`${at}?tlsCaFile=${own}`)).toBe('TLS');
    expect(await firstCode(`${at}?tlsCaFile=${own}&tlsServerName=redis.example`)).toBe('TLS');
  } finally {
    await server.stop();
  }
});

test('a cluster that does not know the user says so', async () => {
  const servers = await freshRedisCluster();
  try {
    for (let i = 0; i < 3; i++) await servers.client(i).call('ACL', 'SETUSER', 'tollgate', 'on', '>right', '~*', '&*', '+@all');
    for (let i = 0; i < 3; i++) await servers.client(i).call('ACL', 'SETUSER', 'default', 'off');
    expect(await firstCode(servers.url.replace('://', '://tollgate:hunter2@'))).toBe('WRONGPASS');
    const right = createRedis(servers.url.replace('://', '://tollgate:right@'), 'limiter');
    await until('the cluster can be used', async () => (await right.set('ready', '1')) === 'OK', 30_000);
    right.disconnect();
  } finally {
    await servers.stop();
  }
});
