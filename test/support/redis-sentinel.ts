/** A Sentinel group for tests: a primary with a replica, and three Sentinels that watch them. */
import { Redis } from 'ioredis';
import { IN_MEMORY, RedisProcesses, type RedisProcess } from './redis-process.js';
import { until } from './until.js';

const GROUP = 'tollgate-test';
const SENTINELS = 3;

export interface TestSentinelGroup {
  /** As REDIS_URL has it. */
  readonly url: string;
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
}

export async function freshSentinelGroup({ downAfterMs = 500, login }: TestSentinelOptions = {}): Promise<TestSentinelGroup> {
  const processes = new RedisProcesses();
  const acl = login && ['--user', login[0], 'on', `>${login[1]}`, '~*', '&*', '+@all', '--user', 'default', 'off'];
  const credentials = login && ['--masteruser', login[0], '--masterauth', login[1]];
  const args = (port: number) => ['--port', port, ...IN_MEMORY, ...(acl ?? []), ...(credentials ?? [])];
  const primary = await processes.start(args);
  const replica = await processes.start((port) => [...args(port), '--replicaof', '127.0.0.1', primary.port]);
  const sentinels: RedisProcess[] = [];
  for (let i = 0; i < SENTINELS; i++) sentinels.push(await processes.start((port) => [sentinelFile(port), '--sentinel']));
  const options = login ? { username: login[0], password: login[1] } : {};
  const clients = [primary, replica].map(({ port }) => new Redis({ port, host: '127.0.0.1', ...options }).on('error', () => {}));
  await until('the replica follows', async () => (await clients[1]!.info('replication')).includes('master_link_status:up'), 30_000);
  for (const { port } of sentinels) {
    const sentinel = new Redis(port, '127.0.0.1').on('error', () => {});
    const knowsAll = async () => {
      const [fields] = [(await sentinel.call('SENTINEL', 'MASTER', GROUP)) as string[]];
      const valueOf = (name: string) => fields[fields.indexOf(name) + 1];
      return valueOf('num-slaves') === '1' && valueOf('num-other-sentinels') === String(SENTINELS - 1);
    };
    await until('the Sentinel knows the others', knowsAll, 30_000);
    sentinel.disconnect();
  }
  const user = login ? `${login.map(encodeURIComponent).join(':')}@` : '';
  return {
    url: `redis+sentinel://${user}${sentinels.map(({ host, port }) => `${host}:${port}`).join(',')}/${GROUP}`,
    servers: [primary, replica],
    client: (index) => clients[index]!,
    async failOver() {
      const sentinel = new Redis(sentinels[0]!.port, '127.0.0.1').on('error', () => {});
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
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ${GROUP} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${GROUP} ${downAfterMs}`,
      `sentinel failover-timeout ${GROUP} 5000`,
      ...(login ? [`sentinel auth-user ${GROUP} ${login[0]}`, `sentinel auth-pass ${GROUP} ${login[1]}`] : []),
    ];
    return processes.file(`sentinel-${port}.conf`, `${lines.join('\n')}\n`);
  }
}
