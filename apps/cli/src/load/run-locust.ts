import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Tether } from '#scripts/tether.mjs';
import { notStarted } from '../shared/command-error.js';
import { LOCUST_FILES, type LocustCommand } from './locust.js';
import { PROFILES, type LoadOptions } from './options.js';

/** How long requests in flight may take at the end. */
const LAST_ANSWERS_S = 10;

/** A second Ctrl-C that comes later than this is one by a user who has lost patience. */
const SAME_SIGNAL_MS = 1_000;

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs a profile to its end, and returns the exit code of Locust. */
export function runLocust([program, ...first]: LocustCommand, options: LoadOptions): Promise<number> {
  const child = spawn(program, [...first, ...locustArguments(options)], {
    // In a group of its own a Ctrl-C comes to it once, by us, and not a second time by the terminal.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: locustEnvironment(options, process.env),
  });
  new Tether().tie(child, 'TERM');
  stopWithUs(child);
  return new Promise((done, fail) => {
    child.once('error', (error) => fail(notStarted(`Locust could not be started: ${error.message}`)));
    child.once('close', (code) => done(code ?? 2));
  });
}

function locustArguments({ profile, seconds, users, gateway }: LoadOptions): string[] {
  return [
    ...['--locustfile', join(LOCUST_FILES, PROFILES[profile].file), '--headless', '--only-summary'],
    // Its log and its tables would stand around ours; warnings still come.
    ...['--skip-log-setup', '--host', gateway, '--users', String(users), '--spawn-rate', String(users)],
    ...['--run-time', `${seconds}s`, '--stop-timeout', String(LAST_ANSWERS_S)],
  ];
}

function locustEnvironment(options: LoadOptions, { TOLLGATE_LOAD_TARGET: target, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...env,
    ...(options.gatewayIsNamed && { TOLLGATE_LOAD_TARGET: target }),
    TOLLGATE_LOAD_RULES_API: options.rulesApi,
    TOLLGATE_LOAD_MERCHANTS: options.merchants,
    TOLLGATE_LOAD_RESULTS: options.results,
    TOLLGATE_ADMIN_TOKEN: options.token,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUTF8: '1',
  };
}

/** Ends the run when we are told to end; a second Ctrl-C does not wait for requests in flight. */
function stopWithUs(child: ChildProcess): void {
  let firstMs = 0;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // npm passes on a Ctrl-C that the terminal has sent us already.
      if (firstMs === 0) child.kill('SIGTERM');
      else if (Date.now() - firstMs > SAME_SIGNAL_MS) child.kill('SIGKILL');
      firstMs ||= Date.now();
    });
  }
}
