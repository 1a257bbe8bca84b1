/** A Redis Cluster for tests: three masters on free loopback ports, without replicas and without persistence. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/ports.mjs';
import { endProcess } from '../../scripts/processes.mjs';
import { findRedisServer, librariesOf } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { until } from './until.js';

const SLOTS = 16_384;
const MASTERS = 3;

const tether = new Tether();

export interface TestCluster {
  nodes: { host: string; port: number }[];
  /** A master keeps its connections and answers nothing, until thaw(). */
  freeze(index: number): void;
  thaw(index: number): void;
  stop(): Promise<void>;
}

export async function freshRedisCluster(): Promise<TestCluster> {
  const program = findRedisServer();
  if (!program) throw new Error('This test needs a redis-server or valkey-server on PATH; npm test fetches one where it can.');
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'));
  const servers: ChildProcess[] = [];
  const nodes: { host: string; port: number; busPort: number }[] = [];
  for (let i = 0; i < MASTERS; i++) nodes.push({ host: '127.0.0.1', port: await freePort(), busPort: await freePort() });
  for (const { port, busPort } of nodes) {
    const args = [
      '--port',
      port,
      '--cluster-port',
      busPort,
      '--bind',
      '127.0.0.1',
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      `nodes-${port}.conf`,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    const server = spawn(program, args.map(String), { cwd: directory, stdio: 'ignore', env: { ...process.env, ...librariesOf(program) } });
    tether.tie(server, 'KILL');
    servers.push(server);
  }
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1', { lazyConnect: false }).on('error', () => {}));
  for (const client of clients) await until('the server answers', async () => (await client.ping()) === 'PONG');
  for (const [i, client] of clients.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS) - 1);
    for (const { port, busPort } of nodes) await client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  }
  for (const client of clients) {
    await until(
      'the cluster is up',
      async () => {
        const info = (await client.call('CLUSTER', 'INFO')) as string;
        return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${MASTERS}`);
      },
      30_000,
    );
  }
  for (const client of clients) client.disconnect();
  return {
    nodes: nodes.map(({ host, port }) => ({ host, port })),
    freeze: (index) => void servers[index]!.kill('SIGSTOP'),
    thaw: (index) => void servers[index]!.kill('SIGCONT'),
    async stop() {
      await Promise.all(servers.flatMap(({ pid }) => (pid === undefined ? [] : [endProcess(pid, ['SIGKILL'], 5000)])));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
