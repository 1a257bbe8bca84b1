import type { Preview } from './preview.dto.js';
import { answered, lines } from './preview-stream.js';

const ANSWER: Preview = { shadows: [], shadowedBy: [], uncovers: [], warnings: [] };

/** Steps, and whether somebody has ended them. */
function stepsOf(count: number) {
  const seen = { ended: false, asked: 0 };
  async function* steps() {
    try {
      for (let i = 0; i < count; i++) {
        seen.asked++;
        yield { replayed: i, of: count };
      }
      return ANSWER;
    } finally {
      seen.ended = true;
    }
  }
  return { steps: steps(), seen };
}

it('progress is said a few times a second, and the result last', async () => {
  const { steps } = stepsOf(10);
  let nowMs = 0;
  const said: unknown[] = [];
  for await (const line of lines(steps, await steps.next(), () => (nowMs += 30))) said.push(JSON.parse(line));
  expect(said).toEqual([{ progress: { replayed: 0, of: 10 } }, { progress: { replayed: 7, of: 10 } }, { result: ANSWER }]);
});

it('a preview ends when its reader has gone or does not read on', async () => {
  const streamed = stepsOf(1_000);
  for await (const _line of lines(streamed.steps, await streamed.steps.next())) break;
  expect(streamed.seen).toEqual({ ended: true, asked: 1 });
  const waited = stepsOf(1_000);
  await answered(waited.steps, await waited.steps.next(), () => waited.seen.asked >= 5);
  expect(waited.seen).toEqual({ ended: true, asked: 5 });
});
