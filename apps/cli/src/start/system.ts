/** Brings the system up, part by part, and says what runs where. */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { bundleOf, DIST, mainOf, NEST } from '#scripts/paths.mjs';
import { freePort } from '#scripts/ports.mjs';
import type { Tether } from '#scripts/tether.mjs';
import { RulesApi } from '../api/rules-api.js';
import { seed } from '../demo/seed.js';
import { failed } from '../shared/command-error.js';
import { print } from '../shared/output.js';
import { startChild, type LogLine } from './child.js';
import type { RunConfiguration } from './configuration.js';
import { eventOf, EventPrinter } from './events.js';
import { demandRedis, postgresOf, redisOf, type Service } from './services.js';
import type { State } from './state.js';
import { STOP, type Supervisor } from './supervisor.js';
import { readinessOf, watchReadiness, watchRefusals } from './watch.js';
import { welcome } from './welcome.js';

const READY_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 50;

const DEMO_API = join(DIST, 'apps', 'cli', 'src', 'demo', 'api.js');

/** What the parts of a run have in common. */
export interface Surroundings extends RunConfiguration {
  readonly env: NodeJS.ProcessEnv;
  /** The administrator's. */
  readonly token: string;
  readonly state: State;
  readonly supervisor: Supervisor;
  readonly tether: Tether;
  /** Whether the apps are compiled and started again when their sources change. */
  readonly watch: boolean;
}

type Tell = (app: string, text: string) => void;

/** Starts everything; resolves when it is ready and its welcome is printed. From then on events are printed. @param startedMs by performance.now() */
export async function startSystem(surroundings: Surroundings, startedMs: number): Promise<void> {
  const { env, ports, hosts, token, state, supervisor, watch } = surroundings;
  print('Starting PostgreSQL and Redis ...');
  const { postgres, redis } = await startServices(surroundings);
  if (redis.notice) print(redis.notice);

  if (watch) await startCompiler(surroundings);
  print('Starting the Rules API, the preloader, the gateway and the decision API ...');
  const events = new EventPrinter(print);
  let welcomed = false;
  const tell: Tell = (app, text) => {
    if (welcomed && !supervisor.stopping) events.tell(app, text);
  };
  const launch = launcher(surroundings, tell);
  const upstream = env['UPSTREAM_URL'] || (await startDemoApi(launch, env));
  const appEnv = environmentOfApps(surroundings, { databaseUrl: postgres.url, redisUrl: redis.url, upstream });
  const urls = managementUrls(surroundings);
  const launchApp = (app: keyof typeof urls) => launch(app, programOf(app, watch), appEnv);
  launchApp('rules-api');
  // It migrates the database; where there are no tables yet, the others would only complain.
  if (postgres.isEmpty) await untilReady('rules-api', urls['rules-api']);
  launchApp('preloader');
  launchApp('gateway');
  launchApp('decision-api');
  await untilReady('rules-api', urls['rules-api']);
  const { acmeRuleId } = await seed(new RulesApi({ url: urls['rules-api'], token }));
  await Promise.all(Object.entries(urls).map(([app, url]) => untilReady(app, url)));
  if (!env['UPSTREAM_URL']) await untilDemoApiAnswers(upstream);

  print(
    welcome({
      rulesApi: urls['rules-api'],
      gateway: `http://${hosts.gateway}:${ports.gateway}`,
      gatewayManagement: urls.gateway,
      decisionApi: `http://${hosts.decisionApi}:${ports.decisionApi}`,
      decisionApiGrpc: `${hosts.decisionApi}:${ports.decisionApiGrpc}`,
      decisionApiManagement: urls['decision-api'],
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

/** Where the health of each app is asked. */
function managementUrls({ hosts, ports }: Surroundings) {
  return {
    'rules-api': `http://${hosts.rulesApi}:${ports.rulesApi}`,
    preloader: `http://${hosts.management}:${ports.preloaderManagement}`,
    gateway: `http://${hosts.management}:${ports.gatewayManagement}`,
    'decision-api': `http://${hosts.management}:${ports.decisionApiManagement}`,
  };
}

async function startServices({ env, state, supervisor, tether }: Surroundings) {
  const added = async <S extends Service>(starting: Promise<S>): Promise<S> => {
    const service = await starting;
    if (service.part) supervisor.add(service.part, STOP.service);
    return service;
  };
  const [queue, snapshots] = [env['QUEUE_REDIS_URL'], env['SNAPSHOT_REDIS_URL']];
  const [postgres, redis, ...others] = await Promise.allSettled([
    added(postgresOf(env['DATABASE_URL'], state, tether)),
    added(redisOf(env['REDIS_URL'], state, tether)),
    queue ? demandRedis(queue, 'QUEUE_REDIS_URL') : undefined,
    snapshots ? demandRedis(snapshots, 'SNAPSHOT_REDIS_URL') : undefined,
  ]);
  // Only now that each has come up or failed: whatever came up is known and can be stopped.
  const faults = [postgres, redis, ...others].flatMap((outcome) =>
    outcome.status === 'rejected' ? [(outcome.reason as Error).message] : [],
  );
  if (faults.length > 0 || postgres.status === 'rejected' || redis.status === 'rejected') throw failed(faults.join('\n'));
  return { postgres: postgres.value, redis: redis.value };
}

function environmentOfApps(
  { env, ports, hosts, token }: Surroundings,
  { databaseUrl, redisUrl, upstream }: { readonly databaseUrl: string; readonly redisUrl: string; readonly upstream: string },
): NodeJS.ProcessEnv {
  return {
    ...env,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    BUCKETS_REDIS_URL: redisUrl,
    UPSTREAM_URL: upstream,
    TOLLGATE_ADMIN_TOKEN: token,
    RULES_API_PORT: String(ports.rulesApi),
    PROBLEM_TYPE_BASE: env['PROBLEM_TYPE_BASE'] || `http://${hosts.rulesApi}:${ports.rulesApi}/problems/`,
    GATEWAY_PORT: String(ports.gateway),
    GATEWAY_WORKERS: env['GATEWAY_WORKERS'] || '1',
    GATEWAY_MANAGEMENT_PORT: String(ports.gatewayManagement),
    DECISION_API_PORT: String(ports.decisionApi),
    DECISION_API_GRPC_PORT: String(ports.decisionApiGrpc),
    DECISION_API_MANAGEMENT_PORT: String(ports.decisionApiManagement),
    PRELOADER_MANAGEMENT_PORT: String(ports.preloaderManagement),
  };
}

type Launch = (name: string, args: readonly string[], env: NodeJS.ProcessEnv) => void;

function launcher({ state, supervisor, graceMs, tether }: Surroundings, tell: Tell): Launch {
  return (name, args, env) => {
    if (supervisor.stopping) throw new Error('stopping');
    const onLine = (line: LogLine) => {
      const text = eventOf(line);
      if (text) tell(name, text);
    };
    const part = startChild({ name, args, env, logFile: `${state.logs}/${name}.log`, graceMs, tether, onLine });
    supervisor.add(part, name === 'gateway' || name === 'decision-api' ? STOP.gateway : STOP.app);
  };
}

/** Its address. */
async function startDemoApi(launch: Launch, env: NodeJS.ProcessEnv): Promise<string> {
  const port = await freePort();
  launch('demo-api', [DEMO_API], { PATH: env['PATH'], DEMO_API_PORT: String(port) });
  return `http://127.0.0.1:${port}`;
}

/** It was started before all others. Who tries the first request is not to pay for its first answer either. */
async function untilDemoApiAnswers(url: string): Promise<void> {
  for (const end = Date.now() + READY_WITHIN_MS; ; await sleep(LOOK_EVERY_MS)) {
    const answered = await fetch(`${url}/transactions`, { signal: AbortSignal.timeout(1_000) }).then(
      async (response) => (await response.text()) !== '',
      () => false,
    );
    if (answered) return;
    if (Date.now() > end) throw failed(`the demo API did not answer within ${READY_WITHIN_MS / 1000} s`);
  }
}

/** What Node is told to run: the app in one file, or what was compiled, again whenever that changes, the Lua scripts included. */
function programOf(app: string, watch: boolean): string[] {
  if (!watch) return ['--enable-source-maps', bundleOf(app)];
  const watched = [`apps/${app}`, 'libs'].map((folder) => `--watch-path=${join(DIST, folder)}`);
  return ['--watch-preserve-output', ...watched, '--enable-source-maps', mainOf(app)];
}

/** Starts Nest's compiler, which compiles everything once and then what changes; resolves when the first is done. */
async function startCompiler({ env, state, supervisor, tether }: Surroundings): Promise<void> {
  print('Compiling; from now on again after every change ...');
  await new Promise<void>((resolve) => {
    const part = startChild({
      name: 'compiler',
      args: [NEST, 'build', '--watch', '--silent'],
      env,
      logFile: `${state.logs}/compiler.log`,
      graceMs: 0,
      tether,
      onLine: ({ msg = '' }) => {
        if (msg === 'Watching for file changes.') resolve();
        else if (msg.trim()) print(msg);
      },
    });
    supervisor.add(part, STOP.app);
    void part.exited.then(() => resolve());
  });
}

async function untilReady(app: string, managementUrl: string): Promise<void> {
  for (const end = Date.now() + READY_WITHIN_MS; ; await sleep(LOOK_EVERY_MS)) {
    const { ready, why } = await readinessOf(managementUrl);
    if (ready) return;
    if (Date.now() > end) throw failed(`${app} was not ready after ${READY_WITHIN_MS / 1000} s: ${why}`);
  }
}
