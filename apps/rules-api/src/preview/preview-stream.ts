import type { Preview } from './preview.dto.js';
import type { PreviewProgress } from './preview.service.js';

export const NDJSON = 'application/x-ndjson';

/** Between two lines of progress, in milliseconds. */
const PROGRESS_MS = 200;

type Steps = AsyncGenerator<PreviewProgress, Preview>;
type Step = IteratorResult<PreviewProgress, Preview>;

/** The answer of a preview. @param isGone whether nobody waits for it any more: then it ends early */
export async function answered(steps: Steps, first: Step, isGone: () => boolean): Promise<Preview> {
  let step = first;
  while (!step.done) {
    if (isGone()) {
      await steps.return(NOBODY_WAITS);
      return NOBODY_WAITS;
    }
    step = await steps.next();
  }
  return step.value;
}

/** What is answered to a connection that is closed. */
const NOBODY_WAITS: Preview = { shadows: [], shadowedBy: [], uncovers: [], warnings: [] };

/** The same as lines of JSON: how far it has come, a few times a second, and the answer last. Ends where nobody reads on. */
export async function* lines(steps: Steps, first: Step, nowMs: () => number = () => performance.now()): AsyncGenerator<string> {
  try {
    let saidAtMs = -Infinity;
    let step = first;
    for (; !step.done; step = await steps.next()) {
      if (nowMs() - saidAtMs < PROGRESS_MS) continue;
      saidAtMs = nowMs();
      yield `${JSON.stringify({ progress: step.value })}\n`;
    }
    yield `${JSON.stringify({ result: step.value })}\n`;
  } finally {
    await steps.return(NOBODY_WAITS);
  }
}
