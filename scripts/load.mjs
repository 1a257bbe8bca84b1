/** npm run load: sends load to the gateway with Locust, and says whether every merchant stayed within its limits. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { provide } from './demo/seed.mjs';
import { isMain } from './paths.mjs';
import { bringLocust, LOCUST_FILES } from './load/locust.mjs';
import { watchResources } from './load/resources.mjs';
import { Refusal } from './command-line.mjs';
import { HELP, PROFILES, readOptions, SMOOTH_MERCHANT } from './load/options.mjs';
import { Tether } from './tether.mjs';

const ANSWER_WITHIN_MS = 5_000;
/** How long requests in flight may take at the end. */
const LAST_ANSWERS_S = 10;
/** Twenty at once take two seconds to leave it. */
const SMOOTH_DEMO = {
  merchant: { id: SMOOTH_MERCHANT, name: 'Smooth', timeZone: 'Etc/UTC' },
  rule: {
    name: 'evenly',
    limits: [
      {
        name: 'queue',
        algorithm: 'leaky_bucket',
        capacity: 40,
        drainTokens: 10,
        drainIntervalMs: 1000,
        onLimit: { delay: { maxWaitMs: 5000 } },
      },
    ],
    onStoreFailure: 'closed',
  },
};

/** The exit code when there was no run. */
const NO_RUN = 2;

/**
 * @param {import('./load/options.mjs').LoadOptions} options
 * @returns {Promise<number>} the exit code
 */
async function load(options) {
  await demandAnswer('gateway', options.gateway, '--gateway');
  await demandAnswer('Rules API', options.rulesApi, '--rules-api');
  if (options.makesMerchant) await makeSmoothMerchant(options);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  for (const signal of signals) process.on(signal, onSignal);
  const locust = await bringLocust(console.log, { signal: stop.signal });
  if (stop.signal.aborted) return 130;
  for (const signal of signals) process.off(signal, onSignal);
  const used = watchResources(options.dataDir);
  const code = await runLocust(locust, options);
  console.log(`\n${used()}`);
  return code;
}

/** @param {import('./load/options.mjs').LoadOptions} options */
async function makeSmoothMerchant({ rulesApi, token }) {
  try {
    const { created } = await provide(rulesApi, token, SMOOTH_DEMO);
    if (created) console.log(`Created the merchant ${SMOOTH_MERCHANT}, whose requests leave a leaky bucket one by one.`);
  } catch (error) {
    throw new Refusal(`The merchant ${SMOOTH_MERCHANT} could not be written: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * Without an identity, a request costs no merchant a token.
 * @param {string} what
 * @param {string} address
 * @param {string} option
 */
async function demandAnswer(what, address, option) {
  try {
    await fetch(address, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch (error) {
    const { cause, message } = /** @type {Error & { cause?: Error & { code?: string } }} */ (error);
    throw new Refusal(
      `The ${what} at ${address} cannot be reached (${cause?.code || cause?.message || message}).\nStart Tollgate with npm start, in another terminal; ${option} names another address.`,
    );
  }
}

/**
 * @param {import('./load/locust.mjs').Command} command
 * @param {import('./load/options.mjs').LoadOptions} options
 * @returns {Promise<number>}
 */
function runLocust([program, ...first], { profile, seconds, users, merchants, gateway, gatewayIsNamed, rulesApi, token, results }) {
  const args = ['--locustfile', join(LOCUST_FILES, /** @type {string} */ (PROFILES[profile])), '--headless', '--only-summary'];
  // Its log and its tables would stand around ours; warnings still come.
  args.push('--skip-log-setup', '--host', gateway, '--users', String(users), '--spawn-rate', String(users));
  args.push('--run-time', `${seconds}s`, '--stop-timeout', String(LAST_ANSWERS_S));
  const { TOLLGATE_LOAD_TARGET: target, ...env } = process.env;
  const child = spawn(program, [...first, ...args], {
    // A group of its own: Ctrl-C comes to it once, by us, and not a second time by the terminal.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...env,
      ...(gatewayIsNamed && { TOLLGATE_LOAD_TARGET: target }),
      TOLLGATE_LOAD_RULES_API: rulesApi,
      TOLLGATE_LOAD_MERCHANTS: merchants,
      TOLLGATE_LOAD_RESULTS: results,
      TOLLGATE_ADMIN_TOKEN: token,
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUTF8: '1',
    },
  });
  new Tether().tie(child, 'TERM');
  endWith(child);
  return new Promise((done, fail) => {
    child.once('error', (error) => fail(new Refusal(`Locust could not be started: ${error.message}`)));
    child.once('close', (code) => done(code ?? NO_RUN));
  });
}

/**
 * Ends the run when we are told to; a second Ctrl-C, seconds later, has no patience with requests in flight.
 * @param {import('node:child_process').ChildProcess} child
 */
function endWith(child) {
  let firstMs = 0;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      // npm hands a Ctrl-C on to us that the terminal has sent us already.
      if (firstMs === 0) child.kill('SIGTERM');
      else if (Date.now() - firstMs > 1000) child.kill('SIGKILL');
      firstMs ||= Date.now();
    });
  }
}

if (isMain(import.meta.url)) {
  try {
    const options = readOptions(process.argv.slice(2), process.env);
    if (options === 'help') console.log(HELP);
    else process.exitCode = await load(options);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(`${error.message}\nnpm run load -- --help explains the command.`);
    process.exitCode = NO_RUN;
  }
}
