/** npm start, npm run dev: installs and builds what is missing, and leaves the rest to what was built (apps/cli/src/start). */
import { build, importBuilt } from './build.mjs';
import { whenCallerIsGone } from './caller.mjs';
import { BAD_CONFIGURATION } from './command-line.mjs';
import { demandNode, installMissing } from './install.mjs';
import { dataDirOf } from './paths.mjs';
import { takeDataDirectory } from './run-lock.mjs';

const HELP = `npm start [-- --fresh]
npm run dev [-- --fresh]

Runs Tollgate on this machine: PostgreSQL, Redis, the Rules API, the preloader, the gateway, the decision API, and a small demo API
behind it with two demo merchants. Installs and builds what is missing. Ctrl-C stops everything.

npm run dev does the same, and compiles and starts the apps again whenever their sources change.

  --fresh  begin anew: removes the databases, logs and admin token of earlier runs (not those of DATABASE_URL, REDIS_URL)
  --help   this text

Variables, all optional:
  DATABASE_URL              a PostgreSQL of your own, 14 or later; otherwise an embedded one is started
  REDIS_URL                 a Redis of your own; otherwise redis-server or valkey-server from PATH is started,
                            or, where there is none, js-redis-server stands in
                            a Sentinel group is redis+sentinel://host1,host2/group, a cluster redis+cluster://host1,host2
  SNAPSHOT_REDIS_URL        another Redis for the snapshots of rules; REDIS_URL by default
  QUEUE_REDIS_URL           another Redis for the job queue; REDIS_URL by default
  RULES_API_PORT            3000
  GATEWAY_PORT              8080
  GATEWAY_MANAGEMENT_PORT   8081, health and metrics
  PRELOADER_MANAGEMENT_PORT 8082, health and metrics
  DECISION_API_PORT         8090, the decision API
  DECISION_API_GRPC_PORT    8091, the decision API by gRPC
  DECISION_API_MANAGEMENT_PORT 8092, health and metrics
  RULES_API_HOST, GATEWAY_HOST, MANAGEMENT_HOST
                            the addresses on which they listen; 127.0.0.1, so that nobody else reaches them
  MANAGEMENT_TOKEN          if set, metrics are shown only to those who send it
  UPSTREAM_URL              the server behind the gateway; the demo API by default
  TOLLGATE_ADMIN_TOKEN      at least 16 characters; otherwise one is made and kept
  TRUSTED_PROXIES           whose X-Merchant-Id is believed: addresses and CIDR ranges; loopback by default
  UNKNOWN_MERCHANT          deny (default) or default, which applies the default rules
  LOG_LEVEL                 info
  TOLLGATE_DATA_DIR         where the state is kept; .tollgate by default`;

/** One Ctrl-C may arrive twice, from the terminal and from npm; somebody who presses it again takes longer. */
const IMPATIENT_AFTER_MS = 1_000;

/** What happens when somebody wants the end. While packages are installed and sources compiled, there is nothing else to stop. */
let end = (/** @type {boolean} */ _impatient) => process.exit(0);

function listenForTheEnd() {
  let firstMs = 0;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      firstMs ||= Date.now();
      end(Date.now() - firstMs > IMPATIENT_AFTER_MS);
    });
  }
  whenCallerIsGone(() => end(false));
}

/** @param {{ fresh: boolean, watch: boolean }} options @returns {Promise<number>} the exit code */
async function start(options) {
  const startedMs = performance.now();
  demandNode();
  const directory = dataDirOf();
  process.once('exit', await takeDataDirectory(directory));
  // Whoever reads our output may go before we do.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  listenForTheEnd();
  await installMissing(console.log);
  await build();
  const system = await importBuilt('apps/cli/src/start/start.js');
  return system.start({ ...options, directory, startedMs, onEndWanted: (/** @type {typeof end} */ handler) => (end = handler) });
}

const options = process.argv.slice(2);
const unknown = options.filter((option) => !['--fresh', '--watch', '--help'].includes(option));
if (unknown.length > 0) {
  console.error(`npm start does not know ${unknown.join(' ')}.\n\n${HELP}`);
  process.exitCode = BAD_CONFIGURATION;
} else if (options.includes('--help')) {
  console.log(HELP);
} else {
  process.exit(
    await start({ fresh: options.includes('--fresh'), watch: options.includes('--watch') }).catch((error) => {
      console.error(error.message);
      return 1;
    }),
  );
}
