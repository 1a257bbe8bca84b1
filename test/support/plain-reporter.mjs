/** Tells how far the tests are, and at the end what ran: how many of each project passed and failed, and which were skipped. */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * @typedef {object} FileOutcome
 * @property {string} project
 * @property {number} passed
 * @property {string[]} skipped the titles of the skipped tests
 * @property {string[]} failed likewise; a file that could not be loaded has one failure without a title
 */

/** @typedef {Record<string, FileOutcome>} Outcome by the file's path below the root folder */

const PROGRESS_EVERY_MS = 15_000;

/**
 * The last line of a run.
 * @param {FileOutcome[]} files
 */
export function inWords(files) {
  const sum = (/** @type {(file: FileOutcome) => number} */ of) => files.reduce((total, file) => total + of(file), 0);
  const skipped = sum((file) => file.skipped.length);
  return `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed.length)} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** A Jest reporter. With TOLLGATE_TEST_OUTCOME it writes the outcome to that file as JSON and leaves the last line to npm test. */
export default class PlainReporter {
  /** @type {Outcome} */
  #outcome = {};
  #startedMs = Date.now();
  #toldMs = Date.now();

  /**
   * @param {import('@jest/reporters').Test} test
   * @param {import('@jest/reporters').TestResult} result
   * @param {import('@jest/reporters').AggregatedResult} all
   */
  onTestFileResult(test, result, all) {
    const { displayName, rootDir } = test.context.config;
    const titles = (/** @type {string[]} */ ...wanted) =>
      result.testResults.filter(({ status }) => wanted.includes(status)).map(({ fullName }) => fullName);
    this.#outcome[relative(rootDir, test.path)] = {
      project: displayName?.name ?? 'tests',
      passed: result.numPassingTests,
      skipped: titles('pending', 'todo'),
      // A file that could not even be loaded has no tests to count, and is a failure all the same.
      failed: [...titles('failed'), ...(result.testExecError ? [''] : [])],
    };
    if (Date.now() - this.#toldMs < PROGRESS_EVERY_MS) return;
    this.#toldMs = Date.now();
    const files = Object.values(this.#outcome);
    const seconds = Math.round((Date.now() - this.#startedMs) / 1000);
    console.log(`${files.length} of ${all.numTotalTestSuites} files after ${seconds} s: ${inWords(files)}`);
  }

  onRunComplete() {
    const file = process.env['TOLLGATE_TEST_OUTCOME'];
    if (file) writeFileSync(file, JSON.stringify(this.#outcome));
    else console.log(inWords(Object.values(this.#outcome)));
  }
}
