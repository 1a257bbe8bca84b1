import { afterHelp, newCommand } from '../shared/command.js';
import { notStarted } from '../shared/command-error.js';
import { Faults, wholeNumber } from '../shared/options.js';
import { print } from '../shared/output.js';
import { drawRun } from './chart.js';
import { bringLocust } from './locust.js';
import { loadOptions, PROFILES, SMOOTH_MERCHANT, type LoadOptions } from './options.js';
import { watchResources } from './resources.js';
import { runLocust, SIGNALS } from './run-locust.js';
import { provideSmoothMerchant } from './smooth-merchant.js';

const ANSWER_WITHIN_MS = 5_000;

const PROFILE_LIST = Object.entries(PROFILES).map(([name, { meaning }]) => `  ${name.padEnd(13)} ${meaning}`);

const ABOUT = [
  `Says for each merchant what passed and whether it stayed within the capacity + rate * time of the merchant's limits. Locust is the
one on PATH, or is installed for this checkout.`,
  `Load goes to this machine only. In a network of containers, TOLLGATE_LOAD_TARGET may name the gateway's service.`,
  `The results are written to load/PROFILE.json in the data directory (TOLLGATE_DATA_DIR, .tollgate by default). The exit code is 1 if
a bound was exceeded or a request failed other than by a refusal.`,
];

const EXAMPLES = [
  'npx tollgate load burst',
  'npx tollgate load steady --seconds 60 --merchants acme,globex',
  'npx tollgate load burst --chart burst.svg',
];

export function command() {
  const faults = new Faults();
  return newCommand('load', 'Sends load to the gateway with Locust.')
    .argument('[profile]', `one of:\n${PROFILE_LIST.join('\n')}`)
    .addOption(wholeNumber('--seconds <n>', 'how long', { min: 1, max: 600, default: 20 }, faults))
    .addOption(wholeNumber('--users <n>', 'clients at once', { min: 1, max: 1000, default: 20 }, faults))
    .option(
      '--merchants <ids>',
      `ids with commas between (default: acme,globex; the profile smooth creates the merchant ${SMOOTH_MERCHANT}, which has a queue)`,
    )
    .option('--gateway <url>', 'default: http://127.0.0.1:8080, or the port in GATEWAY_PORT')
    .option('--rules-api <url>', 'tells the limits (default: http://127.0.0.1:3000, or the port in RULES_API_PORT)')
    .option('--token <token>', 'the admin token (default: TOLLGATE_ADMIN_TOKEN, or the one that npm start keeps)')
    .option('--chart <file>', 'draw what passed and what was refused over time, as SVG')
    .addHelpText('after', afterHelp(ABOUT, EXAMPLES))
    .action(async (profile, { chart, ...flags }) => {
      if (chart === '') faults.add('--chart must be a file; got nothing.');
      const options = loadOptions(profile, flags, process.env, faults);
      process.exitCode = await load(options);
      // Of a run that did not begin there are no results.
      if (chart && process.exitCode < 2) await drawRun(options, chart);
    });
}

/** The exit code of Locust. */
async function load(options: LoadOptions): Promise<number> {
  await demandAnswer('gateway', options.gateway, '--gateway');
  await demandAnswer('Rules API', options.rulesApi, '--rules-api');
  if (options.createsMerchant) await provideSmoothMerchant(options);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const locust = await bringLocust({ say: print, signal: stop.signal });
  for (const signal of SIGNALS) process.off(signal, onSignal);
  if (stop.signal.aborted) return 130;
  const used = watchResources(options.dataDir);
  try {
    return await runLocust(locust, options);
  } finally {
    print(`\n${await used()}`);
  }
}

/** Without an identity, a request costs no merchant a token. */
async function demandAnswer(what: string, address: string, option: string): Promise<void> {
  try {
    await fetch(address, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException };
    throw notStarted(
      `The ${what} at ${address} cannot be reached (${cause?.code || cause?.message || message}).\nStart Tollgate with npm start, in another terminal; ${option} names another address.`,
    );
  }
}
