import { PATIENCE } from './patience.mjs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks again and again until the answer is neither undefined, null nor false, and returns it. What the question throws
 * counts as "not yet".
 *
 * @throws after `withinMs`, with `what` and the last error
 */
export async function until<T>(what: string, ask: () => Promise<T> | T, withinMs = 10_000): Promise<Exclude<T, false | null | undefined>> {
  let lastError: unknown;
  for (const end = Date.now() + withinMs * PATIENCE; ; await sleep(20)) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer as Exclude<T, false | null | undefined>;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`, { cause: lastError });
  }
}
