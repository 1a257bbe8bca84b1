/** Runs cases one after the other, and tells what does not hold of which. */
import { caseOf } from './grammar.mjs';
import { faultsOf } from './judge.mjs';
import { seedOf } from './random.mjs';
import { shrunk } from './shrink.mjs';

/**
 * @typedef {import('./bed.mjs').FuzzBed} FuzzBed
 * @typedef {import('./grammar.mjs').Case} Case
 * @typedef {{ number: number, faults: readonly string[], testCase: Case }} Failure the case is as small as it still fails
 */

/**
 * @param {FuzzBed} bed
 * @param {{ seed: number, cases: number, from?: number, mostFailures?: number, onProgress?: (done: number) => void }} options
 * @returns {Promise<{ failures: readonly Failure[], seen: { asked: number, reached: number, refused: number } }>}
 *   and how many requests were decided about, reached the upstream, and how many cases had an answer of the proxy itself
 */
export async function fuzz(bed, { seed, cases, from = 0, mostFailures = 10, onProgress = () => {} }) {
  /** @type {Failure[]} */
  const failures = [];
  const seen = { asked: 0, reached: 0, refused: 0 };
  for (let number = from; number < from + cases && failures.length < mostFailures; number++) {
    const testCase = caseOf(seedOf(seed, number));
    const result = await bed.run(testCase);
    const [first, ...more] = faultsOf(result);
    seen.asked += result.asked.length;
    seen.reached += result.reached.length > 0 ? 1 : 0;
    seen.refused += /HTTP\/1\.1 [45]/.test(result.answers) ? 1 : 0;
    if (first !== undefined) failures.push({ number, faults: [first, ...more], testCase: await smallestThatFails(bed, testCase, first) });
    onProgress(number + 1 - from);
  }
  return { failures, seen };
}

/** @param {FuzzBed} bed @param {Case} testCase @param {string} fault */
function smallestThatFails(bed, testCase, fault) {
  const kind = kindOf(fault);
  return shrunk(testCase, async (smaller) => faultsOf(await bed.run(smaller)).some((each) => kindOf(each) === kind));
}

/** Without what was sent. @param {string} fault */
function kindOf(fault) {
  return fault.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/\d+|\/\S*|\b[A-Z]+\b/g, '');
}

/** @param {Failure} failure */
export function describeFailure({ number, faults, testCase: { pieces, writes, admission, trusted } }) {
  const sent = JSON.stringify(pieces.join('')).replaceAll(/[\x7f-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
  return `case ${number}, ${admission}, ${trusted ? 'trusted' : 'not trusted'}, ${writes} writes: ${sent}\n  ${faults.join('\n  ')}`;
}
