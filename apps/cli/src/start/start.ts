/** The run of npm start: the whole system on this machine, with what it needs, until somebody wants its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Tether } from '#scripts/tether.mjs';
import { CommandError } from '../shared/command-error.js';
import { note, print } from '../shared/output.js';
import { demandFreePorts, readConfiguration } from './configuration.js';
import { State } from './state.js';
import { Supervisor } from './supervisor.js';
import { startSystem } from './system.js';

export interface Run {
  /** Whether the data of earlier runs are removed first. */
  readonly fresh: boolean;
  /** Whether the apps are compiled and started again when their sources change. */
  readonly watch: boolean;
  /** Where the state is kept; it is this process's own. */
  readonly directory: string;
  /** By performance.now(). */
  readonly startedMs: number;
  /** Says what is to happen when somebody wants the end; `impatient` the second time. */
  readonly onEndWanted: (end: (impatient: boolean) => void) => void;
}

/** How long a part that was being started when the end came may take to turn up. */
const SETTLE_MS = 15_000;

/** Should we be killed, our apps are killed so many seconds after their grace. */
const KILLED_AFTER_GRACE_S = 2;

/** Runs until the end, and returns the exit code. */
export async function start({ fresh, watch, directory, startedMs, onEndWanted }: Run): Promise<number> {
  const state = new State(directory);
  const supervisor = new Supervisor(state);
  onEndWanted((impatient) => (impatient ? supervisor.killAll() : supervisor.requestStop()));
  const bringingUp = bringUp(state, supervisor, { fresh, watch, startedMs });
  let exitCode = 0;
  const failure = (fault: string, code: number): void => {
    note(`\n${fault}`);
    exitCode = code;
  };
  await Promise.race([bringingUp.then(() => supervisor.ended), supervisor.ended]).then(
    (fault) => fault !== undefined && failure(fault, 1),
    (error: Error) => failure(error.message, error instanceof CommandError ? error.exitCode : 1),
  );

  const somethingRan = supervisor.size > 0;
  if (somethingRan) print('\nStopping ...');
  await supervisor.stop();
  await Promise.race([bringingUp.catch(() => {}), sleep(SETTLE_MS, undefined, { ref: false })]);
  await supervisor.stop();
  state.ended();
  if (somethingRan) print('Stopped.');
  return exitCode;
}

async function bringUp(
  state: State,
  supervisor: Supervisor,
  { fresh, watch, startedMs }: Pick<Run, 'fresh' | 'watch' | 'startedMs'>,
): Promise<void> {
  const { env } = process;
  const leftovers = await state.stopLeftovers();
  if (leftovers.length > 0) print(`Stopped what an earlier run has left behind: ${leftovers.join(', ')}.`);
  if (fresh) state.clear();
  const token = state.adminToken(env['TOLLGATE_ADMIN_TOKEN']);
  const configuration = await readConfiguration(env, token);
  await demandFreePorts(configuration.ports);
  const tether = new Tether(Math.ceil(configuration.graceMs / 1000) + KILLED_AFTER_GRACE_S);
  await startSystem({ ...configuration, env, token, state, supervisor, tether, watch }, startedMs);
}
