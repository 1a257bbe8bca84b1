/** Says the outcome in one line that people and programs can read: `12 passed, 0 failed`, and how many were skipped. */
import { writeFileSync } from 'node:fs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Outcome */

/**
 * The outcome in words.
 * @param {Outcome} outcome
 */
export const inWords = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

/** A Jest reporter. With TOLLGATE_TEST_OUTCOME it writes the outcome to that file as JSON and leaves the last line to npm test. */
export default class PlainReporter {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    /** @type {Outcome} */
    const outcome = {
      passed: results.numPassedTests,
      // A file that could not even be loaded has no tests to count, and is a failure all the same.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    const file = process.env['TOLLGATE_TEST_OUTCOME'];
    if (file) writeFileSync(file, JSON.stringify(outcome));
    else console.log(inWords(outcome));
  }
}
