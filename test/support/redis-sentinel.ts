/** A Sentinel group for tests: a primary with a replica, and three Sentinels that watch them. */
import { Redis } from 'ioredis';
import { IN_MEMORY, RedisProcesses, type RedisProcess } from './redis-process.js';
import { makeRedisTls } from './redis-tls.js';
import { until } from './until.js';

const GROUP = 'tollgate-test';
const SENTINELS = 3;

export interface TestSentinelGroup {
  /** As REDIS_URL has it. */
  readonly url: string;
  /** With TLS: the same, but an authority is believed that has signed nothing here. */
  readonly untrustingUrl: string | undefined;
  /** The first primary, and its replica. */
  readonly servers: readonly [RedisProcess, RedisProcess];
  /** A connection to one of the servers, for what a test does to it. It ends with the group. */
  client(index: 0 | 1): Redis;
  /** Makes the replica the primary, as an operator does. */
  failOver(): Promise<unknown>;
  stop(): Promise<void>;
}

export interface TestSentinelOptions {
  /** How long the primary is silent before it is taken for dead. */
  readonly downAfterMs?: number;
  /** user:password of an ACL, which everybody needs then. */
  readonly login?: readonly [user: string, password: string];
  /** Spoken with clients, with the Sentinels and between all of them. */
  readonly tls?: boolean;
}

export async function freshSentinelGroup({
  downAfterMs = 500,
  login,
  tls: secure = false,
}: TestSentinelOptions = {}): Promise<TestSentinelGroup> {
  const processes = new RedisProcesses();
  const tls = secure ? makeRedisTls(processes) : undefined;
  const portArgs = (port: number) => (tls ? [...tls.args(port), ...tls.betweenServers] : ['--port', port]);
  const acl = login && ['--user', login[0], 'on', `>${login[1]}`, '~*', '&*', '+@all', '--user', 'default', 'off'];
  const credentials = login && ['--masteruser', login[0], '--masterauth', login[1]];
  const args = (port: number) => [...portArgs(port), ...IN_MEMORY, ...(acl ?? []), ...(credentials ?? [])];
  const primary = await processes.start(args);
  const replica = await processes.start((port) => [...args(port), '--replicaof', '127.0.0.1', primary.port]);
  const sentinels: RedisProcess[] = [];
  for (let i = 0; i < SENTINELS; i++) sentinels.push(await processes.start((port) => [sentinelFile(port), '--sentinel']));
  const options = { ...(login && { username: login[0], password: login[1] }), ...(tls && { tls: tls.client }) };
  const openSentinel = (port: number) => new Redis({ port, host: '127.0.0.1', ...(tls && { tls: tls.client }) }).on('error', () => {});
  const clients = [primary, replica].map(({ port }) => new Redis({ port, host: '127.0.0.1', ...options }).on('error', () => {}));
  await until('the replica follows', async () => (await clients[1]!.info('replication')).includes('master_link_status:up'), 30_000);
  for (const { port } of sentinels) {
    const sentinel = openSentinel(port);
    const knowsAll = async () => {
      const [fields] = [(await sentinel.call('SENTINEL', 'MASTER', GROUP)) as string[]];
      const valueOf = (name: string) => fields[fields.indexOf(name) + 1];
      return valueOf('num-slaves') === '1' && valueOf('num-other-sentinels') === String(SENTINELS - 1);
    };
    await until('the Sentinel knows the others', knowsAll, 30_000);
    sentinel.disconnect();
  }
  const user = login ? `${login.map(encodeURIComponent).join(':')}@` : '';
  const url = `${tls ? 'rediss' : 'redis'}+sentinel://${user}${sentinels.map(({ host, port }) => `${host}:${port}`).join(',')}/${GROUP}`;
  return {
    url: url + (tls?.parameters ?? ''),
    untrustingUrl: tls && url + tls.ofAnother,
    servers: [primary, replica],
    client: (index) => clients[index]!,
    async failOver() {
      const sentinel = openSentinel(sentinels[0]!.port);
      try {
        return await sentinel.call('SENTINEL', 'FAILOVER', GROUP);
      } finally {
        sentinel.disconnect();
      }
    },
    async stop() {
      for (const client of clients) client.disconnect();
      await processes.stop();
    },
  };

  /** A Sentinel writes its own file. */
  function sentinelFile(port: number): string {
    const lines = [
      ...inFile(portArgs(port)),
      'bind 127.0.0.1',
      `sentinel monitor ${GROUP} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${GROUP} ${downAfterMs}`,
      `sentinel failover-timeout ${GROUP} 5000`,
      ...(login ? [`sentinel auth-user ${GROUP} ${login[0]}`, `sentinel auth-pass ${GROUP} ${login[1]}`] : []),
    ];
    return processes.file(`sentinel-${port}.conf`, `${lines.join('\n')}\n`);
  }
}

/** Arguments as lines of a configuration file. */
function inFile(args: readonly (string | number)[]): string[] {
  return args
    .join(' ')
    .split(/(?:^| )--/)
    .slice(1);
}
