import { makeAuthority, makeCertificate } from '../../support/certificates.js';
import { freshRedisCluster } from '../../support/redis-cluster.js';
import { freshRedisProcess, IN_MEMORY, type RedisProcesses } from '../../support/redis-process.js';
import { freshSentinelGroup } from '../../support/redis-sentinel.js';

export interface Setup {
  readonly url: string;
  stop(): Promise<void>;
}

/** A server that speaks nothing but TLS, and its certificate's authority. */
export async function secureRedis(): Promise<
  Setup & { readonly port: number; readonly processes: RedisProcesses; readonly caFile: string }
> {
  const authority = makeAuthority();
  const { cert, key } = makeCertificate({ dnsNames: ['redis.test'], by: authority });
  let caFile = '';
  const server = await freshRedisProcess((port, processes) => {
    caFile = processes.file('ca.pem', authority.cert);
    const files = ['--tls-cert-file', processes.file('cert.pem', cert), '--tls-key-file', processes.file('key.pem', key)];
    return ['--port', 0, '--tls-port', port, ...files, '--tls-ca-cert-file', caFile, '--tls-auth-clients', 'no', ...IN_MEMORY];
  });
  const url = `rediss://127.0.0.1:${server.port}?tlsCaFile=${encodeURIComponent(caFile)}&tlsServerName=redis.test`;
  return { ...server, url, caFile };
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
  ['a Sentinel group with an ACL user', () => freshSentinelGroup({ login: ['tollgate', 's3cret@'] })],
  ['a cluster of three masters', () => freshRedisCluster()],
];
