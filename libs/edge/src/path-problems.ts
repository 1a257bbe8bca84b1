import { Problem } from './problem-answer.js';

/** A path that servers read differently; `rule` is the one of the path policy that it breaks. */
export function pathProblem(rule: string, what: string): Problem {
  const detail = `The path has ${what}, which servers read in different ways.`;
  return new Problem(400, 'Bad Request', 'ambiguous-path', 'path.ambiguous', detail, { extensions: { rule } });
}

export const TARGET_FORM = new Problem(
  400,
  'Bad Request',
  'bad-request',
  'target.malformed',
  'The request target has to be a path that starts with a slash.',
);

export const TARGET_CHARACTERS = new Problem(
  400,
  'Bad Request',
  'bad-request',
  'target.unescaped_characters',
  'The request target contains characters that have to be percent-encoded.',
);
