import { createRedis } from '#limiter-redis';
import { freshRedisCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { firstCode, secureRedis } from './setups.js';

/** Why there is no connection is told by a code, and no password is. */

test('a server whose certificate somebody else has signed, or that has another name, gets no command', async () => {
  const server = await secureRedis();
  try {
    const own = encodeURIComponent(server.caFile);
    const at = `rediss://:hunter2@127.0.0.1:${server.port}`;
    expect(await firstCode(server.untrustingUrl!.replace('rediss://', 'rediss://:hunter2@'))).toBe('TLS');
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
