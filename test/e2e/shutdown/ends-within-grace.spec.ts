import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleOf } from '../../../scripts/paths.mjs';
import { freePort } from '../../../scripts/ports.mjs';
import { Tether } from '../../../scripts/tether.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { until } from '../../support/until.js';

/** A process ends within its grace, whatever is broken. Each test waits for processes of its own: they run at once. */

const STUBBORN = fileURLToPath(new URL('./stubborn.mjs', import.meta.url));
const GRACE_MS = 800;
/** The guard's half second, and what a machine under load adds to it. */
const SLACK_MS = 500 + 3_000 * PATIENCE;

const tether = new Tether();

interface Process {
  pid: number;
  stdout(): string;
  /** Stops reading its log, as a reader does that ended. */
  leave(): void;
  signal(signal: NodeJS.Signals): void;
  /** Its exit code, or the signal that ended it. */
  exited: Promise<number | NodeJS.Signals | null>;
  /** What `exited` brings, and how long after the signal. */
  end(signal: NodeJS.Signals): Promise<{ by: number | NodeJS.Signals | null; ms: number }>;
}

interface Options {
  env?: Record<string, string>;
  /** 'unread': a pipe that nobody reads. */
  stdout?: 'read' | 'unread' | number;
}

/** Those that have not ended, as they should. */
const running = new Set<ChildProcess>();
afterAll(() => running.forEach((child) => child.kill('SIGKILL')));

function run(args: string[], { env = {}, stdout = 'read' }: Options = {}): Process & { ready: Promise<void> } {
  const stdio: StdioOptions = ['ignore', typeof stdout === 'number' ? stdout : 'pipe', 'pipe'];
  const child = spawn(process.execPath, args, { stdio, env: { PATH: process.env['PATH'] ?? '', ...env } });
  tether.tie(child, 'KILL');
  running.add(child);
  child.once('exit', () => running.delete(child));
  let text = '';
  let errors = '';
  if (stdout === 'read') child.stdout?.setEncoding('utf8').on('data', (more: string) => (text += more));
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  const ready = new Promise<void>((resolve) => {
    child.stderr!.setEncoding('utf8').on('data', (more: string) => {
      errors += more;
      if (errors.includes('ready')) resolve();
    });
  });
  return {
    pid: child.pid!,
    ready,
    exited,
    stdout: () => text,
    leave: () => child.stdout?.destroy(),
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      const sentMs = performance.now();
      child.kill(signal);
      let ended: { by: number | NodeJS.Signals | null; ms: number } | null = null;
      void exited.then((by) => (ended = { by, ms: performance.now() - sentMs }));
      return until('the process ends', () => ended, 60_000);
    },
  };
}

async function stubborn(illness: string, options: Options = {}): Promise<Process> {
  const process = run([STUBBORN, illness, String(GRACE_MS)], options);
  await process.ready;
  return process;
}

describe('a process that is told to end', () => {
  it.concurrent.each([
    ['ends at once', 0],
    ['fails', 1],
    ['throws where nobody catches', 1],
    ['never ends', 1],
    // Neither a timer nor process.exit gets a turn: it is killed from outside.
    ['blocks the event loop', 'SIGKILL'],
    ['leaves a thread at work', 'SIGKILL'],
  ] as const)('ends within its grace when closing %s', async (illness, by) => {
    const ended = await (await stubborn(illness)).end('SIGTERM');
    expect(ended.by).toBe(by);
    expect(ended.ms).toBeLessThan(GRACE_MS + SLACK_MS);
  });

  it.concurrent('leaves no guard behind', async () => {
    const { spawnSync } = await import('node:child_process');
    const process = await stubborn('ends at once');
    await process.end('SIGTERM');
    await until(() => {
      const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
      expect(stdout.split('\n').filter((line) => line.includes('kill -KILL 0') && line.endsWith(` ${process.pid}`))).toEqual([]);
    });
  });

  it.concurrent('ends at once on a second signal, and takes two that come together for one', async () => {
    const process = run([STUBBORN, 'never ends', '60000']);
    await process.ready;
    const firstMs = performance.now();
    let endedMs: number | null = null;
    void process.exited.then(() => (endedMs = performance.now()));
    process.signal('SIGINT');
    process.signal('SIGTERM');
    // Somebody who grows impatient: what comes within the first second is still the first signal.
    await until('the process ends', () => {
      process.signal('SIGINT');
      return endedMs;
    });
    expect(await process.exited).toBe(1);
    expect(endedMs! - firstMs).toBeGreaterThan(900);
    expect(process.stdout()).toContain('a second signal');
  });

  it.concurrent.each(['ends at once', 'never ends'])(
    'ends within its grace with the reader of its log gone, when closing %s',
    async (illness) => {
      const process = await stubborn(illness);
      process.leave();
      const ended = await process.end('SIGTERM');
      expect(ended.by).toBe(illness === 'never ends' ? 1 : 0);
      expect(ended.ms).toBeLessThan(GRACE_MS + SLACK_MS);
    },
  );

  it.concurrent('goes on, and ends within its grace, with a log that nobody reads', async () => {
    // That it gets as far as being ready shows that a full pipe does not stop it.
    const process = await stubborn('ends at once', { stdout: 'unread', env: { FLOOD: '1' } });
    const ended = await process.end('SIGTERM');
    expect(ended.by).toBe(0);
    expect(ended.ms).toBeLessThan(GRACE_MS + SLACK_MS);
  });

  it.concurrent('goes on, and ends within its grace, with its log on a full disk', async () => {
    const full = openSync('/dev/full', 'w');
    const process = await stubborn('ends at once', { stdout: full, env: { FLOOD: '1' } });
    closeSync(full);
    const ended = await process.end('SIGTERM');
    expect(ended.by).toBe(0);
    expect(ended.ms).toBeLessThan(GRACE_MS + SLACK_MS);
  });
});

describe('each app, with Redis and PostgreSQL gone and the reader of its log too', () => {
  const GONE = { DATABASE_URL: 'postgres://127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1', UPSTREAM_URL: 'http://127.0.0.1:1' };
  const PORTS = {
    gateway: 'GATEWAY_MANAGEMENT_PORT',
    'decision-api': 'DECISION_API_MANAGEMENT_PORT',
    preloader: 'PRELOADER_MANAGEMENT_PORT',
    'rules-api': 'RULES_API_PORT',
  };

  it.concurrent.each(['gateway', 'decision-api', 'preloader', 'rules-api'] as const)('%s ends on SIGTERM', async (app) => {
    const port = await freePort();
    const process = run([bundleOf(app)], {
      env: {
        ...GONE,
        GATEWAY_PORT: '0',
        DECISION_API_PORT: '0',
        DECISION_API_GRPC_PORT: '0',
        [PORTS[app]]: String(port),
        TOLLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        SHUTDOWN_GRACE_MS: '2000',
      },
    });
    await until(async () => expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200), 20_000);
    process.leave();
    // Something to log, which finds nobody.
    await fetch(`http://127.0.0.1:${port}/v1/merchants`);
    const ended = await process.end('SIGTERM');
    expect(ended.by).toBe(0);
    expect(ended.ms).toBeLessThan(2_000 + SLACK_MS);
  });
});
