/** npm run fuzz: Schemathesis calls every operation of the OpenAPI document with what it allows and with what it forbids; or the proxy gets HTTP of all kinds. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Workshop } from '../bench/shared/workshop.mjs';
import { build } from '../scripts/build.mjs';
import { BAD_CONFIGURATION, ConfigurationError } from '../scripts/command-line.mjs';
import { demandNode, installMissing } from '../scripts/install.mjs';
import { mainOf, ROOT } from '../scripts/paths.mjs';
import { freePort } from '../scripts/ports.mjs';
import { findRedisServer } from '../scripts/services/redis.mjs';
import { fuzzHttp1, fuzzLanes } from './http1.mjs';
import { fuzzHttp2 } from './http2.mjs';
import { obtainSchemathesis } from './schemathesis.mjs';

const HELP = `npm run fuzz [-- --seconds N] [--examples N] [--seed N] [--or-skip]
npm run fuzz -- --cases N [--http2 | --lanes] [--from N] [--seed N]

Starts a Rules API of its own with PostgreSQL and Redis, and lets Schemathesis call it by its OpenAPI document. It fails if an
answer is a server error, has a status, a content type, a header or a body that is not in the document, or if the Rules API
logs an error. It uses loopback only: webhooks are sent nowhere. Schemathesis is installed once into .tollgate/tools, which takes
Python 3.11 with venv, and the network. Run it with the same seed to repeat it.

With --cases the proxy of a gateway gets so many connections with HTTP/1.1 of all kinds, good and bad, or with HTTP/2 by TLS. It fails if the
upstream gets what was not sent, was not decided about, or can be read in two ways, if something that was asked has no answer, if an honest client
beside it is not served, or if memory or sockets stay behind. It needs neither Python nor Redis. A million of HTTP/1.1 take about half an hour.

  --cases N      1 to 100000000
  --http2        HTTP/2 instead of HTTP/1.1
  --lanes        the same to a proxy with the fast lane and to one without, which have to do the same
  --from N       the number of the first case; 0 by default
  --seconds N    how long, 10 to 7200; 120 by default
  --examples N   calls of each operation before the next has its turn, 1 to 1000; 30 by default
  --seed N       0 to 999999999; 1 by default
  --or-skip      without Python, Redis or the network it says so and succeeds
  --help         this text`;

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** Calls by themselves, then chains of calls, each of which uses what the one before answered. One run would leave no time for chains. */
const PARTS = [
  { phases: 'examples,coverage,fuzzing', share: 0.75 },
  { phases: 'stateful', share: 0.25 },
];
const TOKEN = 'admin-token-of-the-fuzzer';
const READY_WITHIN_MS = 60_000;
/** Everything that a run does beside its calls. */
const SPARE_MS = 120_000;
const MOST_ERRORS_SHOWN = 20;

/** @param {string[]} args */
function settingsIn(args) {
  const { values } = parsed(args);
  return {
    cases: values.cases === undefined ? undefined : whole('--cases', values.cases, 1, 100_000_000),
    from: whole('--from', values.from ?? '0', 0, 999_999_999),
    seconds: whole('--seconds', values.seconds ?? '120', 10, 7200),
    examples: whole('--examples', values.examples ?? '30', 1, 1000),
    seed: whole('--seed', values.seed ?? '1', 0, 999_999_999),
    mayBeSkipped: values['or-skip'] === true,
    http2: values.http2 === true,
    lanes: values.lanes === true,
    help: values.help === true,
  };
}

const TEXT = /** @type {const} */ ({ type: 'string' });
const FLAG = /** @type {const} */ ({ type: 'boolean' });

/** @param {string[]} args */
function parsed(args) {
  try {
    return parseArgs({
      args,
      options: {
        seconds: TEXT,
        examples: TEXT,
        seed: TEXT,
        cases: TEXT,
        from: TEXT,
        http2: FLAG,
        lanes: FLAG,
        'or-skip': FLAG,
        help: { ...FLAG, short: 'h' },
      },
    });
  } catch (error) {
    throw new ConfigurationError(/** @type {Error} */ (error).message);
  }
}

/** @param {string} option @param {string} text @param {number} min @param {number} max */
function whole(option, text, min, max) {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigurationError(`${option}: expected a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`);
}

/** @param {ReturnType<typeof settingsIn>} settings @returns {Promise<number>} the exit code */
async function fuzz({ seconds, examples, seed, mayBeSkipped }) {
  const schemathesis = findRedisServer() ? await obtainSchemathesis() : { missing: 'that takes a redis-server or valkey-server on PATH' };
  if ('missing' in schemathesis) {
    console.error(`${mayBeSkipped ? 'SKIPPED: the Rules API was not fuzzed' : 'Not fuzzed'}: ${schemathesis.missing}`);
    return mayBeSkipped ? 0 : BAD_CONFIGURATION;
  }
  await build();
  const workshop = new Workshop({ measured: undefined, rest: undefined, description: 'not pinned' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.once(signal, () => void workshop.close().then(() => process.exit(130)));
  try {
    const api = await startApi(workshop);
    const key = await merchantKey(api.url);
    let isClean = true;
    for (const { phases, share } of PARTS) {
      const partSeconds = Math.max(1, Math.round(seconds * share));
      const fuzzer = workshop.start(schemathesis.program, {
        args: [
          ...['run', `${api.url}/openapi.json`, '--header', `Authorization: Bearer ${TOKEN}`, '--checks', CHECKS.join(',')],
          ...['--phases', phases, '--max-time', String(partSeconds), '--max-examples', String(examples)],
          ...['--seed', String(seed), '--continue-on-failure', '--generation-database', 'none', '--warnings', 'off', '--no-color'],
        ],
        env: { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: join(ROOT, 'fuzz'), PYTHONDONTWRITEBYTECODE: '1', FUZZ_MERCHANT_KEY: key },
        onLine: (line) => console.log(line),
      });
      isClean = (await endsWell(fuzzer, partSeconds * 1000 + SPARE_MS)) && isClean;
    }
    for (const line of api.errors) console.error(`The Rules API logged: ${line}`);
    return isClean && api.errors.length === 0 ? 0 : 1;
  } finally {
    await workshop.close();
  }
}

/** A Rules API, ready, and the errors that it logs. @param {Workshop} workshop */
async function startApi(workshop) {
  const postgres = await workshop.postgres();
  const redis = await workshop.redis();
  const port = await freePort();
  /** @type {string[]} */
  const errors = [];
  const job = workshop.node(mainOf('rules-api'), {
    env: {
      DATABASE_URL: postgres.url,
      BUCKETS_REDIS_URL: redis.url,
      RULES_API_PORT: String(port),
      TOLLGATE_ADMIN_TOKEN: TOKEN,
    },
    onLine: (line) => {
      if (/"level":"(?:error|fatal)"/.test(line) && errors.length < MOST_ERRORS_SHOWN) errors.push(line);
    },
  });
  await job.line((line) => line.includes('migrated and ready'), READY_WITHIN_MS);
  return { url: `http://127.0.0.1:${port}`, errors };
}

/** The API key of a merchant, for the calls that merchants make for themselves. @param {string} url */
async function merchantKey(url) {
  const post = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
    return /** @type {Promise<any>} */ (answer.json());
  };
  await post('/v1/merchants', { id: 'fuzzed', name: 'A merchant that asks for itself' });
  return (await post('/v1/merchants/fuzzed/api-keys', { name: 'the fuzzer' })).key;
}

/** Whether a process ends in time and without a failure. @param {import('../bench/shared/workshop.mjs').Job} job @param {number} withinMs */
async function endsWell(job, withinMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => {
      console.error(`Schemathesis did not end within ${Math.round(withinMs / 1000)} s.`);
      resolve(false);
    }, withinMs);
  });
  const ended = job.ended.then(
    () => true,
    () => false,
  );
  const isWell = await Promise.race([ended, late]);
  clearTimeout(timer);
  return isWell === true;
}

try {
  const settings = settingsIn(process.argv.slice(2));
  if (settings.help) console.log(HELP);
  else {
    demandNode();
    await installMissing(console.error);
    const { cases, http2, lanes } = settings;
    const ofProxy = http2 ? fuzzHttp2 : lanes ? fuzzLanes : fuzzHttp1;
    process.exitCode = await (cases === undefined ? fuzz(settings) : ofProxy({ ...settings, cases }));
  }
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(`${error.message}\n\n${HELP}`);
  process.exitCode = BAD_CONFIGURATION;
}
