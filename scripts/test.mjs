/** npm test: everything, against a real PostgreSQL and a real Redis, on a machine that has only Node. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demandNode, installMissing } from './install.mjs';
import { literally } from './command-line.mjs';
import { ROOT } from './paths.mjs';
import { obtainRedis } from './services/fetch-redis.mjs';
import { SLOWNESS } from '../test/support/patience.mjs';
import { inWords } from '../test/support/plain-reporter.mjs';

const HELP = `npm test [-- JEST OPTIONS AND PATHS]

Runs the unit, integration and end-to-end tests against a real PostgreSQL and a real Redis. Installs and builds what is
missing. The last line says how many passed and failed. Examples:

  npm test
  npm test -- libs/limiter                    the tests in one folder
  npm test -- --selectProjects unit           only the unit tests, which need no services
  npm test -- -t 'never makes two buckets'    tests by their names

Where no redis-server is on PATH one is fetched (apt, brew); where that fails, the tests that need one are skipped, loudly.
On a machine that is many times slower than an ordinary one the end-to-end tests are skipped, loudly as well: the product's own
deadlines of milliseconds would pass before anything could answer. \`--selectProjects e2e\` runs them all the same.

Variables:
  TEST_DATABASE_URL  a PostgreSQL whose user may create databases; otherwise an embedded one is started`;

/** @typedef {import('../test/support/plain-reporter.mjs').Outcome} Outcome */

/** The last ones run one after the other, so that they do not slow each other down. */
const RUNS = {
  // Many of them wait for a deadline: with a worker for each of two cores, a third of both stood idle.
  quick: { title: 'Unit and integration tests', projects: ['unit', 'integration'], workers: ['--maxWorkers=3'] },
  endToEnd: { title: 'End-to-end tests: the built apps, as processes', projects: ['e2e', 'faults'], workers: [] },
  alone: { title: 'End-to-end tests that measure times or fill the machine', projects: ['alone'], workers: ['--runInBand'] },
};

/** What the tests are that somebody named on the command line. */
const CHOSEN = { title: 'The chosen tests', projects: [], workers: [] };

/** In place of a file where Jest itself failed. */
const NO_FILE = 'Jest';

/** If more files fail than this, it is not chance, and none is tried again. */
const MOST_TRIED_AGAIN = 5;

/** From this slowness on the end-to-end tests take a quarter of an hour, and the product's own deadlines (25 ms for a take) begin to pass. */
const TOO_SLOW = 4;

/** So many of the skipped and of the failed tests are named at the end. */
const LISTED = 30;

/**
 * @param {string[]} args for Jest
 * @returns {Promise<number>} the exit code
 */
async function test(args) {
  demandNode();
  await installMissing(console.log);
  // Needs what was installed.
  await (await import('../test/support/packages.mjs')).makeTestPackages();
  const redis = obtainRedis(console.log);
  const skipped = redis ? [] : specsThatNeedRedis();
  const chosen = args.some((arg) => /^--(selectProjects|watch|listTests)/.test(arg));
  const tooSlow = !chosen && SLOWNESS >= TOO_SLOW;
  const notices = [
    ...(redis
      ? []
      : [`NO REAL REDIS: none on PATH, and none could be fetched. Not run:\n${skipped.map((file) => `  ${file}`).join('\n')}`]),
    ...(tooSlow
      ? [
          `A VERY SLOW MACHINE: a loop of additions took ${SLOWNESS} times as long as on an ordinary core. The end-to-end tests are not run.`,
        ]
      : []),
  ];
  for (const notice of notices) console.warn(`\n${notice}\n`);

  const runs = chosen ? [CHOSEN] : tooSlow ? [RUNS.quick] : [RUNS.quick, RUNS.endToEnd, RUNS.alone];
  const without = skipped.flatMap((file) => ['--testPathIgnorePatterns', literally(file)]);
  /** @type {Outcome} */
  const total = {};
  const rows = [];
  const unstable = [];
  // Where only some tests are asked for, each run starts what its own need.
  const stopServices = args.length === 0 ? await startServices() : () => {};
  for (const [index, { title, projects, workers }] of runs.entries()) {
    console.log(`\n== ${index + 1} of ${runs.length}: ${title}`);
    const startedMs = Date.now();
    const selected = projects.length > 0 ? ['--selectProjects', ...projects] : [];
    const outcome = await jest([...selected, ...workers, '--passWithNoTests', ...without, ...args]);
    if (args.length === 0) unstable.push(...(await tryAgain(outcome, selected)));
    Object.assign(total, outcome);
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    rows.push(`${title}, ${seconds} s`, ...projectRows(outcome));
  }
  await stopServices();
  const files = Object.values(total);
  console.log(
    `\n${[
      ...rows,
      ...listed('Skipped', titles(total, 'skipped')),
      ...listed('UNSTABLE: failed beside other tests, and passed when run again alone', unstable),
      ...listed('Failed', titles(total, 'failed')),
    ].join('\n')}`,
  );
  for (const notice of notices) console.warn(`\n${notice}`);
  if (files.length === 0) console.error('\nNo test was found.');
  console.log(`\n${inWords(files)}`);
  return files.length === 0 || files.some(({ failed }) => failed.length > 0) ? 1 : 0;
}

/**
 * Runs the files that failed again, with nothing beside them; their second result replaces the first one. A test that is right on an idle machine and fails
 * on a busy one is wrong, and named so that somebody mends it, but it says nothing about the change that is tested.
 * @param {Outcome} outcome
 * @param {string[]} selected
 * @returns {Promise<string[]>} the tests that had failed and passed then
 */
async function tryAgain(outcome, selected) {
  const failed = Object.entries(outcome).filter(([, file]) => file.failed.length > 0);
  const files = failed.map(([path]) => path);
  if (files.length === 0 || files.length > MOST_TRIED_AGAIN || files.includes(NO_FILE)) return [];
  console.log(`\n== Again, alone: ${files.join(', ')}`);
  const second = await jest([...files, '--runTestsByPath', '--runInBand', ...selected]);
  Object.assign(outcome, second);
  const failsAgain = new Set(titles(second, 'failed'));
  return titles(Object.fromEntries(failed), 'failed').filter((test) => !failsAgain.has(test));
}

/** Starts the PostgreSQL and the Redis of all runs, once, and returns what stops them. They end with this process in any case. */
async function startServices() {
  // Needs what installMissing has installed.
  const [{ default: start }, { default: stop }] = await Promise.all([
    import('../test/support/global-setup.mjs'),
    import('../test/support/global-teardown.mjs'),
  ]);
  await start();
  return stop;
}

/** @param {Outcome} outcome */
function projectRows(outcome) {
  const files = Object.values(outcome);
  return [...new Set(files.map(({ project }) => project))].map((name) => {
    const own = files.filter(({ project }) => project === name);
    return `  ${name.padEnd(12)} ${inWords(own)} in ${own.length} files`;
  });
}

/**
 * Each test as its file and its title.
 * @param {Outcome} outcome
 * @param {'failed' | 'skipped'} which
 */
const titles = (outcome, which) =>
  Object.entries(outcome).flatMap(([path, file]) => file[which].map((title) => (title === '' ? path : `${path}: ${title}`)));

/**
 * @param {string} heading
 * @param {string[]} tests
 */
function listed(heading, tests) {
  if (tests.length === 0) return [];
  const more = tests.length > LISTED ? [`  ... and ${tests.length - LISTED} more`] : [];
  return ['', `${heading}:`, ...tests.slice(0, LISTED).map((test) => `  ${test}`), ...more];
}

/**
 * Runs Jest in a process of its own: ES modules need a flag of Node.
 * @param {string[]} args
 * @returns {Promise<Outcome>}
 */
async function jest(args) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-outcome-'));
  const file = join(folder, 'outcome.json');
  try {
    const child = spawn(
      process.execPath,
      ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'), ...args],
      {
        cwd: ROOT,
        stdio: 'inherit',
        // Workers are processes of Jest's own, which do not get the flags of this one.
        env: { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --no-warnings=ExperimentalWarning', TOLLGATE_TEST_OUTCOME: file },
      },
    );
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => child.kill(signal));
    const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(signal ? 1 : (status ?? 1))));
    /** @type {Outcome} */
    const outcome = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    // Jest that fails without a word about a test is a failure, too.
    const unexplained = code !== 0 && !Object.values(outcome).some(({ failed }) => failed.length > 0);
    return unexplained ? { ...outcome, [NO_FILE]: { project: 'jest', passed: 0, failed: [''], skipped: [] } } : outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The test files that start a Redis, directly or by a helper that lies beside them. */
function specsThatNeedRedis() {
  const files = ['test/integration', 'test/e2e', 'test/faults', 'test/support']
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    );
  const text = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  /** @param {string} name of a file without its folder and ending */
  const imports = (name) => new RegExp(`/${literally(name)}\\.js'`);
  let needs = [/\b(freshRedis|freshRedisCluster|freshRedisProcess|freshSentinelGroup|sharedRedisUrl)\b/];
  let found = /** @type {string[]} */ ([]);
  // Helpers stand on helpers.
  for (let before = -1; before < found.length;) {
    before = found.length;
    found = files.filter((file) => needs.some((need) => need.test(text.get(file) ?? '')));
    const helpers = found.filter((file) => !file.endsWith('.spec.ts')).map((file) => file.replace(/^.*\/|\.ts$/g, ''));
    needs = [...needs.slice(0, 1), ...helpers.filter((name) => name !== 'services').map(imports)];
  }
  return found.filter((file) => file.endsWith('.spec.ts'));
}

const args = process.argv.slice(2);
if (args.includes('--help') || args.includes('-h')) {
  console.log(HELP);
} else {
  try {
    process.exitCode = await test(args);
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
