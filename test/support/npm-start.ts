/** Runs `npm start` as somebody at a terminal would: its output, its keys, its processes. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';
import { freePort } from '../../scripts/ports.mjs';
import { isAlive } from '../../scripts/processes.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { PATIENCE } from './patience.mjs';

const tether = new Tether();

/** Variables that give a run a place and ports of its own. */
export interface Place {
  env: Record<string, string>;
  directory: string;
  remove(): void;
}

/** A data directory with a space in its name, and free ports. */
export async function ownPlace(): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate start '));
  chmodSync(directory, 0o755);
  const env: Record<string, string> = { TOLLGATE_DATA_DIR: directory };
  for (const name of [
    'RULES_API_PORT',
    'GATEWAY_PORT',
    'GATEWAY_MANAGEMENT_PORT',
    'DECISION_API_PORT',
    'DECISION_API_GRPC_PORT',
    'DECISION_API_MANAGEMENT_PORT',
    'PRELOADER_MANAGEMENT_PORT',
  ])
    env[name] = String(await freePort());
  return { env, directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

export interface Child {
  name: string;
  pid: number;
}

export interface NpmStart {
  pid: number;
  /** All that it has printed so far. */
  output(): string;
  /** Resolves when the output holds this text; rejects when it ends before, or after `withinMs`. */
  until(text: string, withinMs?: number): Promise<void>;
  /** What it has started so far. */
  children(): Child[];
  signal(signal: NodeJS.Signals): void;
  /** Its exit code; null when a signal ended it. */
  exited: Promise<number | null>;
}

/**
 * Starts scripts/start.mjs with nothing of this process's environment but PATH, HOME and TMPDIR; or, if `throughNpm`, the npm that
 * starts it, whose signals and pid they then are.
 */
export function npmStart(env: Record<string, string>, args: string[] = [], { throughNpm = false } = {}): NpmStart {
  const inherited = Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR'].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  const command = throughNpm ? ['npm', 'start', '--', ...args] : [process.execPath, join(ROOT, 'scripts', 'start.mjs'), ...args];
  const child = spawn(command[0]!, command.slice(1), { cwd: ROOT, env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  tether.tie(child, 'TERM');
  const { pid } = child;
  if (pid === undefined) throw new Error('npm start could not be started');
  let output = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const look of [...waiting]) look();
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    pid,
    output: () => output,
    exited,
    signal: (signal) => void child.kill(signal),
    children: () => childrenIn(join(env['TOLLGATE_DATA_DIR'] ?? '', 'run.json')),
    until: (text, withinMs = 60_000) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void) => {
          clearTimeout(timer);
          waiting.delete(look);
          settle();
        };
        const fail = (why: string) => finish(() => reject(new Error(`npm start ${why} it printed ${JSON.stringify(text)}:\n${output}`)));
        const look = () => output.includes(text) && finish(resolve);
        const timer = setTimeout(() => fail(`let ${(withinMs * PATIENCE) / 1000} s pass before`), withinMs * PATIENCE);
        void exited.then(() => (output.includes(text) ? look() : fail('ended before')));
        waiting.add(look);
        look();
      }),
  };
}

function childrenIn(file: string): Child[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { children: Child[] }).children : [];
}

/** Those that still run. */
export const stillRunning = (children: Child[]): Child[] => children.filter(({ pid }) => isAlive(pid));
