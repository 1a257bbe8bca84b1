import { storedSwitches, type Switch } from '#limiter';
import type { Health } from '#platform';
import type { Registry } from 'prom-client';
import { isQuestion, isServe, isSwitchedHere, STANDS_BY, type About, type Answer, type Progress } from './messages.js';

export interface WorkerParts {
  readonly health: Health;
  readonly registry: Registry;
  readonly enforcer: { readonly switches: readonly Switch[]; switchHere(switches: readonly Switch[]): void };
}

/**
 * Resolves once this process shall serve: at once, unless it was started to stand by. It is asked for before the primary is told that this process hears.
 *
 * @returns what is to be awaited by a worker that is warm
 */
export function turnToServe(): () => Promise<void> {
  if (process.env[STANDS_BY] === undefined) return () => Promise.resolve();
  const told = new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (isServe(message)) resolve();
    });
  });
  return () => {
    tell({ tollgate: 'stands by' });
    return told;
  };
}

/**
 * Answers what the primary asks this process, which has no management port of its own. Without its primary it ends as if it had been told to: nobody would
 * ever do that.
 */
export function serveAsWorker({ health, registry, enforcer }: WorkerParts): void {
  const answers: Record<About, () => unknown> = {
    readiness: () => health.readiness(),
    metrics: () => registry.getMetricsAsJSON(),
    switches: () => enforcer.switches,
  };
  process.on('message', (message) => {
    if (isSwitchedHere(message)) enforcer.switchHere(readable(message.switches));
    if (isQuestion(message)) void answer(message.id, answers[message.about]);
  });
  tell({ tollgate: 'hears' });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** Tells the primary that this process serves the port now. */
export function tellThatItServes(): void {
  tell({ tollgate: 'serves' });
}

async function answer(id: number, valueOf: () => unknown): Promise<void> {
  tell({ tollgate: 'answer', id, value: await valueOf() });
}

/** The primary may be gone meanwhile. */
function tell(message: Answer | Progress): void {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
}

function readable(switches: unknown): readonly Switch[] {
  try {
    return storedSwitches(switches);
  } catch {
    return [];
  }
}
