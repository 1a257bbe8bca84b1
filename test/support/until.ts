import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from './patience.mjs';

const LOOK_AGAIN_MS = 10;

/** The text names in an error what was waited for; without it the question's own text does. `withinMs` is multiplied by PATIENCE. */
type Waiting<Question> = [what: string, question: Question, withinMs?: number] | [question: Question, withinMs?: number];

/**
 * The one way in which tests wait for what happens in its own time. It asks again and again until the question neither throws
 * nor is answered with false or null, and returns the answer. A question of expectations has no answer: it holds once it does not throw.
 *
 * @throws after `withinMs` (10 s by default), with the last error as its cause
 */
export function until(...waiting: Waiting<() => void | Promise<void>>): Promise<void>;
export function until<T extends NonNullable<unknown> | null>(...waiting: Waiting<() => T | Promise<T>>): Promise<Exclude<T, false | null>>;
export async function until(...waiting: Waiting<() => unknown>): Promise<unknown> {
  const [what, question, withinMs = 10_000] = isNamed(waiting) ? waiting : ([String(waiting[0]), ...waiting] as const);
  for (const giveUpMs = performance.now() + withinMs * PATIENCE; ; await sleep(LOOK_AGAIN_MS)) {
    let lastError: unknown;
    try {
      const answer = await question();
      if (answer !== false && answer !== null) return answer;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > giveUpMs) throw new Error(`not within ${withinMs * PATIENCE} ms: ${what}`, { cause: lastError });
  }
}

const isNamed = <Question>(waiting: Waiting<Question>): waiting is [string, Question, number?] => typeof waiting[0] === 'string';
