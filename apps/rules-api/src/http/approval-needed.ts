import { ProblemError } from '#platform';

/** The most names that one answer holds. */
const MAX_NAMES = 10;

/** A change that touches protected rules besides other things: it cannot wait for approval, because nobody could approve a part of it. */
export function approvalNeeded(names: readonly string[]): ProblemError {
  const shown = names.slice(0, MAX_NAMES).map((name) => JSON.stringify(name));
  const others = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const detail =
    `this would change ${shown.join(', ')}${others}, which are labelled protected; nothing was changed. ` +
    'Change each of them by a call of its own, which waits for a second administrator';
  return new ProblemError({ status: 409, code: 'approval.needed', detail });
}
