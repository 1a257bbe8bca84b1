/** Tells how far the tests are, and at the end what ran: how many of each project passed and failed, and which were skipped. */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * @typedef {object} ProjectOutcome
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} files
 */

/**
 * @typedef {object} Outcome
 * @property {Record<string, ProjectOutcome>} projects by their names
 * @property {string[]} skipped the skipped tests, each as its file and its title
 * @property {string[]} failed likewise; a file that could not be loaded stands alone
 */

const PROGRESS_EVERY_MS = 15_000;

/**
 * The last line of a run.
 * @param {Pick<Outcome, 'projects'>} outcome
 */
export function inWords({ projects }) {
  const sum = (/** @type {keyof ProjectOutcome} */ key) => Object.values(projects).reduce((total, project) => total + project[key], 0);
  return `${sum('passed')} passed, ${sum('failed')} failed${sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : ''}`;
}

/** A Jest reporter. With TOLLGATE_TEST_OUTCOME it writes the outcome to that file as JSON and leaves the last line to npm test. */
export default class PlainReporter {
  /** @type {Outcome} */
  #outcome = { projects: {}, skipped: [], failed: [] };
  #startedMs = Date.now();
  #toldMs = Date.now();

  /**
   * @param {import('@jest/reporters').Test} test
   * @param {import('@jest/reporters').TestResult} result
   * @param {import('@jest/reporters').AggregatedResult} all
   */
  onTestFileResult(test, result, all) {
    const { displayName, rootDir } = test.context.config;
    const project = (this.#outcome.projects[displayName?.name ?? 'tests'] ??= { passed: 0, failed: 0, skipped: 0, files: 0 });
    project.files += 1;
    project.passed += result.numPassingTests;
    // A file that could not even be loaded has no tests to count, and is a failure all the same.
    project.failed += result.numFailingTests + (result.testExecError ? 1 : 0);
    project.skipped += result.numPendingTests + result.numTodoTests;
    const file = relative(rootDir, test.path);
    if (result.testExecError) this.#outcome.failed.push(file);
    for (const { status, fullName } of result.testResults) {
      if (status === 'failed') this.#outcome.failed.push(`${file}: ${fullName}`);
      if (status === 'pending' || status === 'todo') this.#outcome.skipped.push(`${file}: ${fullName}`);
    }
    if (Date.now() - this.#toldMs < PROGRESS_EVERY_MS) return;
    this.#toldMs = Date.now();
    const files = Object.values(this.#outcome.projects).reduce((total, { files }) => total + files, 0);
    console.log(
      `${files} of ${all.numTotalTestSuites} files after ${Math.round((Date.now() - this.#startedMs) / 1000)} s: ${inWords(this.#outcome)}`,
    );
  }

  onRunComplete() {
    const file = process.env['TOLLGATE_TEST_OUTCOME'];
    if (file) writeFileSync(file, JSON.stringify(this.#outcome));
    else console.log(inWords(this.#outcome));
  }
}
