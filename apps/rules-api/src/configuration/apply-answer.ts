import type { Applied } from './configuration.service.js';

/** The answer of apply as JSON, in pieces, of which one at a time is in memory. */
export function* answerText({ changes, ...rest }: Applied): Generator<string> {
  yield '{"changes":[';
  yield* changes.jsonItems();
  // The brace that opens it has been written.
  yield `],${JSON.stringify(rest).slice(1)}`;
}
