/** Runs the built apps as processes of their own, as they run in production. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { bundleOf } from '../../scripts/paths.mjs';
import { freePort } from '../../scripts/ports.mjs';
import { PATIENCE } from './patience.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { until } from './until.js';

export type AppName = 'rules-api' | 'preloader' | 'gateway' | 'decision-api';

/** What every app started by a test knows as the admin token, unless the test says otherwise. */
export const ADMIN_TOKEN = 'admin-token-of-the-tests';

/** The variables by which an app is told its ports: the one it serves on, and the one of its health and metrics. */
const PORTS: Record<AppName, { main: string; management: string; grpc?: string }> = {
  'rules-api': { main: 'RULES_API_PORT', management: 'RULES_API_PORT' },
  preloader: { main: 'PRELOADER_MANAGEMENT_PORT', management: 'PRELOADER_MANAGEMENT_PORT' },
  gateway: { main: 'GATEWAY_PORT', management: 'GATEWAY_MANAGEMENT_PORT' },
  'decision-api': { main: 'DECISION_API_PORT', management: 'DECISION_API_MANAGEMENT_PORT', grpc: 'DECISION_API_GRPC_PORT' },
};

/** One line of an app's JSON log; a line that is not JSON appears as its msg. */
export type LogLine = Record<string, unknown> & { msg?: string };

export interface StartOptions {
  /** How long it may take until /readyz says 200; 60 s by default. */
  readyWithinMs?: number;
  /** False: only until the management port answers at all, ready or not. */
  untilReady?: boolean;
  /** A file for what it logs, which is then not in `logs`. */
  logTo?: string;
}

export interface RunningApp {
  name: AppName;
  pid: number;
  /** Where it serves; for the preloader, which serves nothing else, its management address. */
  url: string;
  /** Where /healthz, /readyz and /metrics are. */
  managementUrl: string;
  ports: { main: number; management: number; /** Of the decision API. */ grpc?: number };
  /** What it has logged so far. */
  logs: LogLine[];
  /** Waits for a line of the log, one already there included. */
  waitForLog(matches: (line: LogLine) => boolean, withinMs?: number): Promise<LogLine>;
  /** Its exit code, or null after a signal, once it has ended. */
  exited: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL after 15 s; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

const tether = new Tether();

/**
 * Starts an app and waits until it is ready. It gets free ports unless `env` names some, and nothing of this process's own
 * environment but PATH, HOME, TMPDIR, and the lane on which gateways are tested.
 *
 * @throws with the end of its log when it ends or is not ready in time
 */
export async function startApp(name: AppName, env: Record<string, string>, options: StartOptions = {}): Promise<RunningApp> {
  const { readyWithinMs = 60_000, untilReady = true, logTo } = options;
  const names = PORTS[name];
  const main = Number(env[names.main] ?? (await freePort()));
  const management = names.management === names.main ? main : Number(env[names.management] ?? (await freePort()));
  const grpc = names.grpc === undefined ? {} : { grpc: Number(env[names.grpc] ?? (await freePort())) };
  const log = logTo === undefined ? 'pipe' : openSync(logTo, 'w');
  const child = spawn(process.execPath, ['--enable-source-maps', bundleOf(name)], {
    stdio: ['ignore', log, 'pipe'],
    env: {
      ...inherited(),
      TOLLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_WORKERS: '1',
      ...env,
      [names.main]: String(main),
      [names.management]: String(management),
      ...(names.grpc !== undefined && { [names.grpc]: String(grpc.grpc) }),
    },
  });
  if (typeof log === 'number') closeSync(log);
  tether.tie(child, 'KILL');
  const app = describe(name, child, { main, management, ...grpc });
  await untilAnswer(app, untilReady, readyWithinMs);
  return app;
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'GATEWAY_FAST_LANE'].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

function describe(name: AppName, child: ChildProcess, ports: RunningApp['ports']): RunningApp {
  const logs: LogLine[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (text) => {
      const line = parseLine(text);
      logs.push(line);
      for (const listener of listeners) listener(line);
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${name} could not be started`);
  return {
    name,
    pid,
    url: `http://127.0.0.1:${ports.main}`,
    managementUrl: `http://127.0.0.1:${ports.management}`,
    ports,
    logs,
    exited,
    waitForLog: (matches, withinMs = 5000) => waitForLine(name, logs, listeners, matches, withinMs),
    signal: (signal) => void child.kill(signal),
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000 * PATIENCE);
      const code = await exited;
      clearTimeout(timer);
      return code;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function parseLine(text: string): LogLine {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as LogLine;
  } catch {
    // Not JSON: a stack trace, or a warning of Node itself.
  }
  return { msg: text };
}

function waitForLine(
  name: string,
  logs: LogLine[],
  listeners: Set<(line: LogLine) => void>,
  matches: (line: LogLine) => boolean,
  withinMs: number,
): Promise<LogLine> {
  const already = logs.find(matches);
  if (already) return Promise.resolve(already);
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      listeners.delete(listener);
      settle();
    };
    const listener = (line: LogLine) => matches(line) && finish(() => resolve(line));
    const timer = setTimeout(
      () => finish(() => reject(new Error(`${name} did not log what was waited for:\n${lastLines(logs)}`))),
      withinMs * PATIENCE,
    );
    listeners.add(listener);
  });
}

async function untilAnswer(app: RunningApp, untilReady: boolean, withinMs: number): Promise<void> {
  let ended = false;
  void app.exited.then(() => (ended = true));
  const answers = async (): Promise<boolean> => {
    if (ended) return true;
    const response = await fetch(`${app.managementUrl}/readyz`, { signal: AbortSignal.timeout(2000 * PATIENCE) });
    await response.arrayBuffer();
    return response.ok || !untilReady;
  };
  try {
    await until(`${app.name} is ready`, answers, withinMs);
  } catch (cause) {
    await app.kill();
    throw new Error(`${app.name} was not ready in time:\n${lastLines(app.logs)}`, { cause });
  }
  if (ended) throw new Error(`${app.name} ended before it was ready:\n${lastLines(app.logs)}`);
}

function lastLines(logs: LogLine[]): string {
  return logs
    .slice(-15)
    .map((line) => JSON.stringify(line))
    .join('\n');
}
