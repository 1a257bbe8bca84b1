/** npm start: the whole system on this machine, with what it needs, until Ctrl-C. */
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from './build.mjs';
import { BAD_CONFIGURATION } from './command-line.mjs';
import { demandNode, installMissing } from './install.mjs';
import { dataDirOf, isMain } from './paths.mjs';
import { whenCallerIsGone } from './start/caller.mjs';
import { demandFreePorts, readConfiguration } from './start/configuration.mjs';
import { State } from './start/state.mjs';
import { Supervisor } from './start/supervisor.mjs';
import { startSystem } from './start/system.mjs';
import { Tether } from './tether.mjs';

const HELP = `npm start [-- --fresh]
npm run dev [-- --fresh]

Runs Tollgate on this machine: PostgreSQL, Redis, the Rules API, the preloader, the gateway, and a small demo API
behind it with two demo merchants. Installs and builds what is missing. Ctrl-C stops everything.

npm run dev does the same, and compiles and starts the apps again whenever their sources change.

  --fresh  begin anew: removes the databases, logs and admin token of earlier runs (not those of DATABASE_URL, REDIS_URL)
  --help   this text

Variables, all optional:
  DATABASE_URL              a PostgreSQL of your own, 14 or later; otherwise an embedded one is started
  REDIS_URL                 a Redis of your own; otherwise redis-server or valkey-server from PATH is started,
                            or, where there is none, js-redis-server stands in
  QUEUE_REDIS_URL           another Redis for the job queue; REDIS_URL by default
  RULES_API_PORT            3000
  GATEWAY_PORT              8080
  GATEWAY_MANAGEMENT_PORT   8081, health and metrics
  PRELOADER_MANAGEMENT_PORT 8082, health and metrics
  RULES_API_HOST, GATEWAY_HOST, MANAGEMENT_HOST
                            the addresses on which they listen; 127.0.0.1, so that nobody else reaches them
  MANAGEMENT_TOKEN          if set, metrics are shown only to those who send it
  UPSTREAM_URL              the server behind the gateway; the demo API by default
  TOLLGATE_ADMIN_TOKEN      at least 16 characters; otherwise one is made and kept
  TRUSTED_PROXIES           whose X-Merchant-Id is believed: addresses and CIDR ranges; loopback by default
  UNKNOWN_MERCHANT          deny (default) or default, which applies the default rules
  LOG_LEVEL                 info
  TOLLGATE_DATA_DIR         where the state is kept; .tollgate by default`;

/** How long a part that was being started when the end came may take to turn up. */
const SETTLE_MS = 15_000;

const IMPATIENT_AFTER_MS = 1_000;

/** Should we be killed, our apps are killed so many seconds after their grace. */
const KILLED_AFTER_GRACE_S = 2;

/** @param {string} line */
const say = (line) => console.log(line);

/** @param {{ fresh: boolean, watch: boolean }} options */
async function start({ fresh, watch }) {
  const startedMs = performance.now();
  demandNode();
  const state = new State(dataDirOf());
  await state.take();
  const supervisor = new Supervisor(state);
  // Whoever reads our output may go before we do.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  listenForTheEnd(supervisor);

  let failureCode = 1;
  const bringingUp = bringUp({ fresh, watch, state, supervisor, startedMs });
  const fault = await Promise.race([
    bringingUp.then(
      () => supervisor.ended,
      (error) => {
        failureCode = error.exitCode ?? failureCode;
        return error.message;
      },
    ),
    supervisor.ended,
  ]);
  if (fault !== undefined) console.error(`\n${fault}`);

  const somethingRan = supervisor.size > 0;
  if (somethingRan) say('\nStopping ...');
  await supervisor.stop();
  await Promise.race([bringingUp.catch(() => {}), sleep(SETTLE_MS, undefined, { ref: false })]);
  await supervisor.stop();
  state.release();
  if (somethingRan) say('Stopped.');
  process.exit(fault === undefined ? 0 : failureCode);
}

/** @param {Supervisor} supervisor */
function listenForTheEnd(supervisor) {
  let firstMs = 0;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      firstMs ||= Date.now();
      // One Ctrl-C may arrive twice, from the terminal and from npm; somebody who presses it again takes longer.
      if (Date.now() - firstMs > IMPATIENT_AFTER_MS) supervisor.killAll();
      else supervisor.requestStop();
    });
  }
  whenCallerIsGone(() => supervisor.requestStop());
}

/** @param {{ fresh: boolean, watch: boolean, state: State, supervisor: Supervisor, startedMs: number }} options */
async function bringUp({ fresh, watch, state, supervisor, startedMs }) {
  const { env } = process;
  const leftovers = await state.stopLeftovers();
  if (leftovers.length > 0) say(`Stopped what an earlier run has left behind: ${leftovers.join(', ')}.`);
  if (fresh) state.clear();
  await installMissing(say);
  await build();
  const token = state.adminToken(env['TOLLGATE_ADMIN_TOKEN']);
  const { ports, hosts, graceMs } = await readConfiguration(env, token);
  await demandFreePorts(ports);
  await startSystem(
    {
      env,
      ports,
      hosts,
      graceMs,
      token,
      state,
      supervisor,
      tether: new Tether(Math.ceil(graceMs / 1000) + KILLED_AFTER_GRACE_S),
      watch,
      say,
    },
    startedMs,
  );
}

if (isMain(import.meta.url)) {
  const options = process.argv.slice(2);
  const unknown = options.filter((option) => !['--fresh', '--watch', '--help'].includes(option));
  if (unknown.length > 0) {
    console.error(`npm start does not know ${unknown.join(' ')}.\n\n${HELP}`);
    process.exitCode = BAD_CONFIGURATION;
  } else if (options.includes('--help')) {
    say(HELP);
  } else {
    start({ fresh: options.includes('--fresh'), watch: options.includes('--watch') }).catch((error) => {
      console.error(error.message);
      process.exit(1);
    });
  }
}
