/** What servers of a test speak if it is to be TLS: certificates of an authority of their own, in the folder of the processes. */
import type { ConnectionOptions } from 'node:tls';
import { makeAuthority, makeCertificate } from './certificates.js';
import type { RedisProcesses } from './redis-process.js';

const NAME = 'redis.test';

export interface RedisTls {
  /** In place of --port: nothing but TLS is spoken there. */
  readonly args: (port: number) => readonly (string | number)[];
  /** Between servers too. The configuration file of a Sentinel has the same without dashes. */
  readonly betweenServers: readonly string[];
  /** For a client of a test's own. */
  readonly client: ConnectionOptions;
  /** Behind REDIS_URL; others are believed with it than with `ofAnother`, which names an authority that has signed nothing here. */
  readonly parameters: string;
  readonly ofAnother: string;
  readonly caFile: string;
}

export function makeRedisTls(processes: RedisProcesses): RedisTls {
  const authority = makeAuthority();
  const { cert, key } = makeCertificate({ dnsNames: [NAME], by: authority });
  const caFile = processes.file('ca.pem', authority.cert);
  const files = ['--tls-cert-file', processes.file('cert.pem', cert), '--tls-key-file', processes.file('key.pem', key)];
  const parametersOf = (file: string): string => `?tlsCaFile=${encodeURIComponent(file)}&tlsServerName=${NAME}`;
  return {
    args: (port) => ['--port', 0, '--tls-port', port, ...files, '--tls-ca-cert-file', caFile, '--tls-auth-clients', 'no'],
    betweenServers: ['--tls-replication', 'yes'],
    client: { ca: authority.cert, servername: NAME },
    parameters: parametersOf(caFile),
    ofAnother: parametersOf(processes.file('other.pem', makeAuthority('other').cert)),
    caFile,
  };
}
