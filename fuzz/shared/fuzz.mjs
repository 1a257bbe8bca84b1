/** Runs cases, and tells what does not hold of which. */
import { seedOf } from './random.mjs';
import { shrunk } from './shrink.mjs';

/**
 * @typedef {'forward' | 'later' | 'read_body' | 'refuse'} Admission what becomes of requests that can be understood
 *
 * @typedef {object} AnyCase what a client does on one connection
 * @property {readonly string[]} pieces what is sent, a byte each character
 * @property {number} writes in how many writes
 * @property {Admission} admission
 * @property {boolean} trusted
 *
 * @typedef {object} AnySeen what became of a case
 * @property {readonly unknown[]} asked
 * @property {readonly unknown[]} reached
 */

/**
 * @template {AnyCase} C
 * @template {AnySeen} S
 * @typedef {object} Subject what is fuzzed
 * @property {(seed: number) => C} caseOf
 * @property {(testCase: C) => Promise<S>} run
 * @property {(seen: S) => readonly string[]} faultsOf what does not hold
 * @property {(seen: S) => boolean} hasRefusal whether the proxy answered something by itself
 * @property {readonly C[]} [kept] cases that once failed, which run first
 */

/**
 * @template {AnyCase} C
 * @typedef {{ number: number, faults: readonly string[], testCase: C }} Failure the case is as small as it still fails; a kept one has a number before that of the first
 */

/**
 * @template {AnyCase} C
 * @template {AnySeen} S
 * @param {readonly [Subject<C, S>, ...Subject<C, S>[]]} subjects each of which runs one case at a time: all do the same
 * @param {{ seed: number, cases: number, from?: number, mostFailures?: number, onProgress?: (done: number) => void, onFailure?: (failure: Failure<C>) => void }} options
 * @returns {Promise<{ failures: readonly Failure<C>[], seen: { asked: number, reached: number, refused: number } }>}
 *   and how many requests were decided about, reached the upstream, and how many cases had an answer of the proxy itself
 */
export async function fuzz(subjects, { seed, cases, from = 0, mostFailures = 10, onProgress = () => {}, onFailure = () => {} }) {
  const [{ caseOf, kept = [] }] = subjects;
  /** @type {Failure<C>[]} */
  const failures = [];
  const seen = { asked: 0, reached: 0, refused: 0 };
  let next = from - kept.length;
  let done = 0;
  const runOn = async (/** @type {Subject<C, S>} */ subject) => {
    while (next < from + cases && failures.length < mostFailures) {
      const number = next++;
      const testCase = kept[number - from + kept.length] ?? caseOf(seedOf(seed, number));
      const result = await subject.run(testCase);
      const [first, ...more] = subject.faultsOf(result);
      seen.asked += result.asked.length;
      seen.reached += result.reached.length > 0 ? 1 : 0;
      seen.refused += subject.hasRefusal(result) ? 1 : 0;
      if (first !== undefined) {
        const failure = { number, faults: [first, ...more], testCase: await smallestThatFails(subject, testCase, first) };
        failures.push(failure);
        onFailure(failure);
      }
      onProgress(++done);
    }
  };
  await Promise.all(subjects.map(runOn));
  return { failures: failures.toSorted((a, b) => a.number - b.number), seen };
}

/**
 * @template {AnyCase} C
 * @template {AnySeen} S
 * @param {Subject<C, S>} subject
 * @param {C} testCase
 * @param {string} fault
 */
function smallestThatFails(subject, testCase, fault) {
  const kind = kindOf(fault);
  return shrunk(testCase, async (smaller) => subject.faultsOf(await subject.run(smaller)).some((each) => kindOf(each) === kind));
}

/** Without what was sent. @param {string} fault */
function kindOf(fault) {
  return fault.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/\d+|\/\S*|\b[A-Z]+\b/g, '');
}

/** @param {Failure<AnyCase>} failure @param {(pieces: readonly string[]) => string} [describe] what was sent, for a reader */
export function describeFailure({ number, faults, testCase: { pieces, writes, admission, trusted } }, describe = asText) {
  return `case ${number}, ${admission}, ${trusted ? 'trusted' : 'not trusted'}, ${writes} writes: ${describe(pieces)}\n  ${faults.join('\n  ')}`;
}

/** @param {readonly string[]} pieces */
export function asText(pieces) {
  return JSON.stringify(pieces.join('')).replaceAll(/[\x7f-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
