/** A Redis Cluster for tests: three masters on free loopback ports, without persistence, with a replica each where a test wants them. */
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/ports.mjs';
import { IN_MEMORY, RedisProcesses, type RedisProcess } from './redis-process.js';
import { makeRedisTls } from './redis-tls.js';
import { until } from './until.js';

const SLOTS = 16_384;
const MASTERS = 3;

export interface TestCluster {
  /** As REDIS_URL has it. */
  readonly url: string;
  /** With TLS: the same, but an authority is believed that has signed nothing here. */
  readonly untrustingUrl: string | undefined;
  /** The masters first, then their replicas in the same order. */
  readonly nodes: readonly RedisProcess[];
  /** A master keeps its connections and answers nothing, until thaw(). */
  freeze(index: number): void;
  thaw(index: number): void;
  /** A connection to one node, for what a test does to it. It ends with the cluster. */
  client(index: number): Redis;
  stop(): Promise<void>;
}

export interface TestClusterOptions {
  readonly replicas?: boolean;
  /** For how long a master is silent before its replica takes its place. */
  readonly nodeTimeoutMs?: number;
  readonly args?: readonly string[];
  /** Spoken with clients and between the nodes. */
  readonly tls?: boolean;
}

export async function freshRedisCluster({
  replicas = false,
  nodeTimeoutMs = 15_000,
  args = [],
  tls: secure = false,
}: TestClusterOptions = {}): Promise<TestCluster> {
  const processes = new RedisProcesses();
  const tls = secure ? makeRedisTls(processes) : undefined;
  const portArgs = (port: number) => (tls ? [...tls.args(port), ...tls.betweenServers, '--tls-cluster', 'yes'] : ['--port', port]);
  const nodes: RedisProcess[] = [];
  const buses: number[] = [];
  for (let i = 0; i < MASTERS * (replicas ? 2 : 1); i++) {
    const busPort = await freePort();
    buses.push(busPort);
    nodes.push(
      await processes.start((port) => [
        ...portArgs(port),
        ...['--cluster-port', busPort, '--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
        // Where a master is away without a replica, the others go on.
        ...['--cluster-node-timeout', nodeTimeoutMs, '--cluster-require-full-coverage', 'no', ...IN_MEMORY, ...args],
      ]),
    );
  }
  const clients = nodes.map(({ port }) => new Redis({ port, host: '127.0.0.1', ...(tls && { tls: tls.client }) }).on('error', () => {}));
  for (const client of clients) await until('the server answers', async () => (await client.ping()) === 'PONG');
  await joined(nodes, buses, clients);
  const url = `${tls ? 'rediss' : 'redis'}+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`;
  return {
    url: url + (tls?.parameters ?? ''),
    untrustingUrl: tls && url + tls.ofAnother,
    nodes,
    freeze: (index) => nodes[index]!.freeze(),
    thaw: (index) => nodes[index]!.thaw(),
    client: (index) => clients[index]!,
    async stop() {
      for (const client of clients) client.disconnect();
      await processes.stop();
    },
  };
}

async function joined(nodes: readonly RedisProcess[], buses: readonly number[], clients: readonly Redis[]): Promise<void> {
  const masters = clients.slice(0, MASTERS);
  for (const [i, client] of masters.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS) - 1);
    // Epochs that differ from the start need no time to be agreed on.
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const client of clients)
    for (const [i, { port }] of nodes.entries()) await client.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[i]!);
  const isKnown = async (client: Redis) =>
    ((await client.call('CLUSTER', 'INFO')) as string).includes(`cluster_known_nodes:${nodes.length}`);
  for (const client of clients) await until('the nodes know each other', () => isKnown(client), 30_000);
  for (const [i, replica] of clients.slice(MASTERS).entries()) {
    const id = (await masters[i]!.call('CLUSTER', 'MYID')) as string;
    await until('it is a replica', async () => (await replica.call('CLUSTER', 'REPLICATE', id)) === 'OK', 30_000);
    await until('it has what its master has', async () => (await replica.info('replication')).includes('master_link_status:up'), 30_000);
  }
  for (const client of clients)
    await until('the cluster is up', async () => ((await client.call('CLUSTER', 'INFO')) as string).includes('cluster_state:ok'), 30_000);
}
