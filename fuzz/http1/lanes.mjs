/** The same bytes to a proxy with the fast lane and to one without: whatever a client writes, both have to do the same. */
import { caseOf } from './grammar.mjs';
import { read, STRICTEST } from './readings.mjs';

/**
 * @typedef {import('./bed.mjs').Seen} Seen
 * @typedef {import('./grammar.mjs').Case} Case
 */

/** Where an answer has one, and where a request has it on its way. */
const REQUEST_ID = /(?<=request-?id\W{1,7})[A-Za-z0-9_-]{12}-[0-9a-z]+/gi;
const DATE = /Date: [^\r]*/g;
/** Of answers that tell a request id. */
const LENGTH = /(problem\+json\r\n[^]*?Content-Length: )\d+/g;

/** How often each lane may try to do again what the other did, or did not. */
const MOST_TRIES = 20;

/**
 * Whether a client has ended, or the rest of a body has come, when an answer begins is a matter of moments, on both lanes, and the fast one answers sooner. So a difference counts if
 * the slow lane never does what the fast lane did, however its client waits between its writes or writes and ends at once, and the fast lane does something of its own again.
 *
 * @param {{ slow: import('./bed.mjs').FuzzBed, fast: import('./bed.mjs').FuzzBed }} beds
 * @param {(testCase: Case, differences: readonly string[]) => void} [onMoment] told of a difference that did not come again
 * @returns {import('../shared/fuzz.mjs').Subject<Case, Seen & { slow: Seen }>}
 */
export const lanesSubject = ({ slow, fast }, onMoment = () => {}) => ({
  caseOf,
  run: async (testCase) => {
    const seen = { ...(await fast.run(testCase)), slow: await slow.run(testCase) };
    const byMoments = [seen.slow];
    for (let tries = 1; tries < MOST_TRIES && differences(seen).length > 0; tries++) {
      seen.slow = await slow.run(...atAnotherMoment(testCase, tries));
      byMoments.push(seen.slow);
    }
    const first = differences(seen);
    if (first.length === 0) return seen;
    for (let tries = 1; tries < MOST_TRIES; tries++) {
      const again = await fast.run(testCase);
      if (byMoments.every((each) => differences({ ...again, slow: each }).length > 0)) return { ...again, slow: seen.slow };
    }
    onMoment(testCase, first);
    return { ...seen.slow, slow: seen.slow };
  },
  // Whether the slow lane is right is asked without --lanes.
  faultsOf: differences,
  hasRefusal: ({ answers }) => /HTTP\/1\.1 [45]/.test(answers),
});

/** The same bytes, whose end comes later, sooner, or when it may. @param {Case} testCase @param {number} tries @returns {[testCase: Case, turns: number]} */
function atAnotherMoment(testCase, tries) {
  if (tries % 2 === 0) return [testCase, tries];
  return [tries % 4 === 1 ? { ...testCase, writes: 1 } : testCase, 0];
}

/** Of the upstream, for clients that name no host. */
const AUTHORITY = /127\.0\.0\.1:\d+/g;
/** Which of the two it is called depends on what else is in the packet. */
const NO_REQUEST =
  /HTTP\/1\.1 (?:400 Bad Request|405 Method Not Allowed)\r\n(?:(?!HTTP\/1)[^])*"code":"(?:request\.malformed|method\.not_allowed)".*$/;

/** What the last answer says to a client that has ended depends on whether that is known by then. */
const LAST_CONNECTION = /Connection: (?:close|keep-alive\r\nKeep-Alive: timeout=\d+)\r\n(?![^]*HTTP\/1\.1 \d{3} )/;

const PRI = /(?:^|\n)PRI /;

const LAST = 'HTTP/1.1 no request';
/** One for each second that a client has to wait. */
const PROCESSING = 'HTTP/1.1 102 Processing\r\n\r\n';

/** @param {Seen & { slow: Seen }} seen @returns {string[]} */
function differences({ slow, ...fast }) {
  const faults = [];
  for (const { hangs, inFlight } of [fast, slow]) if (hangs || inFlight > 0) faults.push('a request or its connection was not ended');
  if (asked(fast) !== asked(slow)) faults.push(`the fast lane asked ${asked(fast)}, the slow one ${asked(slow)}`);
  if (reached(fast) !== reached(slow)) faults.push(`by the fast lane came ${reached(fast)}, by the slow one ${reached(slow)}`);
  // Of a connection that was reset some may be lost.
  if (fast.isReset || slow.isReset) return faults;
  if (!sameAnswers(answered(fast), answered(slow), fast.sent))
    faults.push(`the fast lane answered ${answered(fast)}, the slow one ${answered(slow)}`);
  return faults;
}

/** @param {Seen} seen */
const asked = (seen) => JSON.stringify(seen.asked).replaceAll(REQUEST_ID, 'ID');

/** Whole requests, over whichever connection they came. @param {Seen} seen */
function reached(seen) {
  const requests = seen.reached.flatMap((text) => read(text, STRICTEST).requests.filter(({ isWhole }) => isWhole));
  return requests
    .map((request) => JSON.stringify(request).replaceAll(REQUEST_ID, 'ID').replaceAll(AUTHORITY, 'upstream'))
    .toSorted()
    .join();
}

/** On a request of PRI node cuts the connection at once: an answer that waits for its turn is lost. @param {string} fast @param {string} slow @param {string} sent */
const sameAnswers = (fast, slow, sent) => fast === slow || (PRI.test(sent) && fast.startsWith(slow.slice(0, -1)));

/** @param {Seen} seen */
const answered = ({ answers }) =>
  JSON.stringify(
    answers
      .replaceAll(REQUEST_ID, 'ID')
      .replaceAll(DATE, 'Date')
      .replaceAll(LENGTH, '$1N')
      .replace(LAST_CONNECTION, '')
      .replace(NO_REQUEST, LAST)
      .replaceAll(PROCESSING, ''),
  );
