/** Brings the system up, part by part, and says what runs where. */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seed } from '../demo/seed.mjs';
import { bundleOf, DIST, mainOf, NEST } from '../paths.mjs';
import { freePort } from '../ports.mjs';
import { startChild } from './child.mjs';
import { eventOf, EventPrinter } from './events.mjs';
import { demandRedis, postgresOf, redisOf } from './services.mjs';
import { STOP } from './supervisor.mjs';
import { readinessOf, watchReadiness, watchRefusals } from './watch.mjs';
import { welcome } from './welcome.mjs';

const READY_WITHIN_MS = 120_000;

/**
 * @typedef {object} Surroundings what the parts of a run have in common
 * @property {NodeJS.ProcessEnv} env
 * @property {import('./configuration.mjs').Ports} ports
 * @property {import('./configuration.mjs').Hosts} hosts
 * @property {number} graceMs how long an app may take to stop
 * @property {string} token the administrator's
 * @property {import('./state.mjs').State} state
 * @property {import('./supervisor.mjs').Supervisor} supervisor
 * @property {import('../tether.mjs').Tether} tether
 * @property {boolean} watch whether the apps are compiled and started again when their sources change
 * @property {(line: string) => void} say
 */

/**
 * Starts everything; resolves when it is ready and its welcome is printed. From then on events are printed.
 * @param {Surroundings} surroundings
 * @param {number} startedMs by performance.now()
 */
export async function startSystem(surroundings, startedMs) {
  const { env, ports, hosts, token, state, supervisor, watch, say } = surroundings;
  say('Starting PostgreSQL and Redis ...');
  const { postgres, redis } = await startServices(surroundings);
  if (redis.notice) say(redis.notice);

  if (watch) await startCompiler(surroundings);
  say('Starting the Rules API, the preloader and the gateway ...');
  const events = new EventPrinter(say);
  const tell = (/** @type {string} */ app, /** @type {string} */ text) => {
    if (welcomed && !supervisor.stopping) events.tell(app, text);
  };
  let welcomed = false;
  const launch = launcher(surroundings, tell);
  const upstream = env['UPSTREAM_URL'] || (await startDemoApi(launch, env));
  const appEnv = environmentOfApps(surroundings, { databaseUrl: postgres.url, redisUrl: redis.url, upstream });
  const urls = {
    'rules-api': `http://${hosts.rulesApi}:${ports.rulesApi}`,
    preloader: `http://${hosts.management}:${ports.preloaderManagement}`,
    gateway: `http://${hosts.management}:${ports.gatewayManagement}`,
  };
  const launchApp = (/** @type {string} */ app) =>
    launch(app, [...(watch ? watchOptions(app) : []), '--enable-source-maps', watch ? mainOf(app) : bundleOf(app)], appEnv);
  launchApp('rules-api');
  // It migrates the database; where there are no tables yet, the others would only complain.
  if (postgres.empty) await untilReady('rules-api', urls['rules-api']);
  launchApp('preloader');
  launchApp('gateway');
  await untilReady('rules-api', urls['rules-api']);
  const { acmeRuleId } = await seed(urls['rules-api'], token);
  await Promise.all(Object.entries(urls).map(([app, url]) => untilReady(app, url)));

  say(
    welcome({
      rulesApi: urls['rules-api'],
      gateway: `http://${hosts.gateway}:${ports.gateway}`,
      gatewayManagement: urls.gateway,
      preloaderManagement: urls.preloader,
      upstream: env['UPSTREAM_URL'] ? upstream : `the demo API, ${upstream}`,
      services: [postgres.what, redis.what],
      token,
      ruleId: acmeRuleId,
      logs: state.logs,
      seconds: (performance.now() - startedMs) / 1000,
    }),
  );
  welcomed = true;
  watchReadiness(urls, tell);
  await watchRefusals(urls.gateway, env['MANAGEMENT_TOKEN'], (text) => tell('gateway', text));
}

/** @param {Surroundings} surroundings */
async function startServices({ env, state, supervisor, tether }) {
  /**
   * @template {import('./services.mjs').Service} S
   * @param {Promise<S>} starting
   */
  const added = async (starting) => {
    const service = await starting;
    if (service.part) supervisor.add(service.part, STOP.service);
    return service;
  };
  const settled = await Promise.allSettled([
    added(postgresOf(env['DATABASE_URL'], state, tether)),
    added(redisOf(env['REDIS_URL'], state, tether)),
    env['QUEUE_REDIS_URL'] ? demandRedis(env['QUEUE_REDIS_URL'], 'QUEUE_REDIS_URL') : undefined,
  ]);
  // Only now that each has come up or failed: whatever came up is known and can be stopped.
  const faults = settled.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.message] : []));
  const [postgres, redis] = settled;
  if (faults.length > 0 || postgres.status === 'rejected' || redis.status === 'rejected') throw new Error(faults.join('\n'));
  return { postgres: postgres.value, redis: redis.value };
}

/**
 * @param {Surroundings} surroundings
 * @param {{ databaseUrl: string, redisUrl: string, upstream: string }} found
 * @returns {Record<string, string>}
 */
function environmentOfApps({ env, ports, hosts, token }, { databaseUrl, redisUrl, upstream }) {
  return {
    .../** @type {Record<string, string>} */ (env),
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    BUCKETS_REDIS_URL: redisUrl,
    UPSTREAM_URL: upstream,
    TOLLGATE_ADMIN_TOKEN: token,
    RULES_API_PORT: String(ports.rulesApi),
    PROBLEM_TYPE_BASE: env['PROBLEM_TYPE_BASE'] || `http://${hosts.rulesApi}:${ports.rulesApi}/problems/`,
    GATEWAY_PORT: String(ports.gateway),
    GATEWAY_MANAGEMENT_PORT: String(ports.gatewayManagement),
    PRELOADER_MANAGEMENT_PORT: String(ports.preloaderManagement),
  };
}

/**
 * @param {Surroundings} surroundings
 * @param {(app: string, text: string) => void} tell
 * @returns {(name: string, args: string[], env: Record<string, string>) => void}
 */
function launcher({ state, supervisor, graceMs, tether }, tell) {
  return (name, args, env) => {
    if (supervisor.stopping) throw new Error('stopping');
    const onLine = (/** @type {import('./child.mjs').LogLine} */ line) => {
      const text = eventOf(line);
      if (text) tell(name, text);
    };
    const part = startChild({ name, args, env, logFile: `${state.logs}/${name}.log`, graceMs, tether, onLine });
    supervisor.add(part, name === 'gateway' ? STOP.gateway : STOP.app);
  };
}

/**
 * @param {ReturnType<typeof launcher>} launch
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string>} its URL
 */
async function startDemoApi(launch, env) {
  const port = await freePort();
  const script = fileURLToPath(new URL('../demo/api.mjs', import.meta.url));
  launch('demo-api', [script], { PATH: env['PATH'] ?? '', DEMO_API_PORT: String(port) });
  return `http://127.0.0.1:${port}`;
}

/**
 * What makes Node start an app again when its compiled code changes, the Lua scripts included.
 * @param {string} app
 */
const watchOptions = (app) => ['--watch-preserve-output', ...[`apps/${app}`, 'libs'].map((folder) => `--watch-path=${join(DIST, folder)}`)];

/**
 * Starts Nest's compiler, which compiles everything once and then what changes; resolves when the first is done.
 * @param {Surroundings} surroundings
 */
async function startCompiler({ env, state, supervisor, tether, say }) {
  say('Compiling; from now on again after every change ...');
  await new Promise((resolve) => {
    const part = startChild({
      name: 'compiler',
      args: [NEST, 'build', '--watch', '--silent'],
      env: /** @type {Record<string, string>} */ (env),
      logFile: `${state.logs}/compiler.log`,
      graceMs: 0,
      tether,
      onLine: ({ msg = '' }) => {
        if (msg === 'Watching for file changes.') resolve(undefined);
        else if (msg.trim()) say(msg);
      },
    });
    supervisor.add(part, STOP.app);
    part.exited.then(resolve);
  });
}

/**
 * @param {string} app
 * @param {string} managementUrl
 */
async function untilReady(app, managementUrl) {
  for (const end = Date.now() + READY_WITHIN_MS; ; await sleep(50)) {
    const { ready, why } = await readinessOf(managementUrl);
    if (ready) return;
    if (Date.now() > end) throw new Error(`${app} was not ready after ${READY_WITHIN_MS / 1000} s: ${why}`);
  }
}
