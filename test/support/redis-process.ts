/** A redis-server with arguments of a test's own: as a node of a cluster, as a Sentinel, with TLS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { connect } from 'node:net';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import type { Redis } from 'ioredis';
import { freePort } from '../../scripts/ports.mjs';
import { endProcess } from '../../scripts/processes.mjs';
import { librariesOf } from '../../scripts/services/fetch-debian.mjs';
import { findRedisServer } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { until } from './until.js';

const tether = new Tether();

export interface RedisProcess {
  readonly host: string;
  readonly port: number;
  /** It keeps its connections and answers nothing, until thaw(). */
  freeze(): void;
  thaw(): void;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with what it had written to its folder. */
  restart(): void;
}

/** Processes that end together, in a folder of their own. */
export class RedisProcesses {
  readonly directory = mkdtempSync(join(tmpdir(), 'tollgate-redis-'));
  private readonly program = findRedisServer();
  private readonly running = new Set<ChildProcess>();
  /** The last of what a server wrote. */
  private readonly said = new Map<ChildProcess, string>();

  /** A file in the folder. */
  file(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }

  async start(argsOf: (port: number) => readonly (string | number)[], port?: number): Promise<RedisProcess> {
    const at = port ?? (await freePort());
    const args = argsOf(at).map(String);
    let server = this.spawn(args);
    await until(`a server listens on ${at}`, () => {
      if (server.exitCode !== null) throw new Error(`redis-server ${args.join(' ')} ended: ${this.said.get(server)}`);
      return listens(at);
    });
    return {
      host: '127.0.0.1',
      port: at,
      freeze: () => void server.kill('SIGSTOP'),
      thaw: () => void server.kill('SIGCONT'),
      kill: () => this.end(server),
      restart: () => void (server = this.spawn(args)),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running].map((server) => this.end(server)));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private spawn(args: readonly string[]): ChildProcess {
    const { program } = this;
    if (!program) throw new Error('This test needs a redis-server or valkey-server on PATH; npm test fetches one where it can.');
    const env = { ...process.env, ...librariesOf(program) };
    const server = spawn(program, args, { cwd: this.directory, stdio: ['ignore', 'pipe', 'pipe'], env });
    const keep = (bytes: Buffer): void => void this.said.set(server, `${this.said.get(server) ?? ''}${bytes.toString()}`.slice(-2000));
    server.stdout.on('data', keep);
    server.stderr.on('data', keep);
    tether.tie(server, 'KILL');
    this.running.add(server);
    return server;
  }

  private async end(server: ChildProcess): Promise<void> {
    this.running.delete(server);
    if (server.pid !== undefined) await endProcess(server.pid, ['SIGKILL'], 5000);
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** What every server of a test is told: only this machine, nothing on disk. */
export const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', 0] as const;

/** One server. It is to be stopped. */
export async function freshRedisProcess(argsOf: (port: number, processes: RedisProcesses) => readonly (string | number)[]) {
  const processes = new RedisProcesses();
  const server = await processes.start((port) => argsOf(port, processes));
  return { ...server, processes, stop: () => processes.stop() };
}

/**
 * Resolves when a replica has everything that was written so far, by whomever. WAIT counts only what its own connection has written, so it writes last.
 *
 * @param key of no test; of a cluster, in a slot of that server
 */
export async function replicated(client: Redis, key: string): Promise<void> {
  await client.set(key, '1');
  expect(await client.wait(1, 10_000)).toBe(1);
}
