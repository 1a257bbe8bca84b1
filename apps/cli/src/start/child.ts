/** One of our Node processes under npm start: its log goes to a file, and line by line to whoever reads along. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ROOT } from '#scripts/paths.mjs';
import { endProcess } from '#scripts/processes.mjs';
import type { Tether } from '#scripts/tether.mjs';
import { LogFile } from './log-file.js';

const LINES_KEPT = 12;

/** A process that does not stop within its grace is killed so much later. */
const AFTER_GRACE_MS = 2_000;

/** A line of an app's log; other text is its `msg` alone. */
export type LogLine = Record<string, unknown> & { msg?: string; level?: string };

/** What npm start starts and stops. */
export interface Part {
  readonly name: string;
  readonly pid: number;
  /** Where it answers, if it is a Redis. */
  readonly redisUrl?: string;
  /** Its exit code, once it has ended; null after a signal. */
  readonly exited: Promise<number | null>;
  readonly lastLines: () => string;
  readonly stop: () => Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  /** For node: its options and the script. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** How long it may take to stop. */
  readonly graceMs: number;
  readonly tether: Tether;
  readonly onLine: (line: LogLine) => void;
}

export function startChild({ name, args, env, logFile, graceMs, tether, onLine }: ChildOptions): Part {
  // A process group of its own: Ctrl-C reaches us alone, and we stop our parts one after the other.
  const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started: node ${args.join(' ')}`);
  tether.tie(child, 'TERM');
  const file = new LogFile(logFile);
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (text) => {
      file.write(`${text}\n`);
      last.push(text);
      if (last.length > LINES_KEPT) last.shift();
      onLine(parsed(text));
    });
  }
  return {
    name,
    pid,
    // 'close' rather than 'exit': by then its last words have been read.
    exited: new Promise((resolve) => child.once('close', resolve)),
    lastLines: () => last.join('\n'),
    stop: () => endProcess(pid, ['SIGTERM', 'SIGKILL'], graceMs + AFTER_GRACE_MS),
  };
}

function parsed(text: string): LogLine {
  try {
    if (text.startsWith('{')) return JSON.parse(text) as LogLine;
  } catch {
    // Not one of ours after all.
  }
  return { msg: text };
}
