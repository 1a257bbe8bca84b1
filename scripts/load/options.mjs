/** The command line of `npm run load`, read and validated once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HELP_FLAG, parsedArguments, Refusal, TEXT } from '../command-line.mjs';
import { dataDirOf } from '../paths.mjs';

/** The profiles and their files in locust/. @type {Record<string, string>} */
export const PROFILES = { steady: 'steady.py', burst: 'burst.py', 'hot-merchant': 'hot_merchant.py', smooth: 'smooth.py' };

/** For whom a profile sends, unless it is told. @param {string} profile */
const merchantsOf = (profile) => (profile === 'smooth' ? SMOOTH_MERCHANT : 'acme,globex');

/** Has a queue, and is made by the profile that needs it. */
export const SMOOTH_MERCHANT = 'smooth';

export const HELP = `npm run load -- PROFILE [options]

Sends load to the gateway with Locust, and says for each merchant what passed and whether it stayed within the
capacity + rate * time of the merchant's limits. Locust is the one on PATH, or is installed for this checkout.

Profiles:
  steady        each merchant at about the rate at which its bucket refills
  burst         silence, then bursts of more than a full bucket holds, again and again
  hot-merchant  the first merchant far above its rate, the others a little
  smooth        all users at once, again and again, through a leaky bucket that delays: they leave it evenly

Options:
  --seconds N        how long, 1 to 600; 20 by default
  --users N          clients at once, 1 to 1000; 20 by default
  --merchants A,B    their ids; acme,globex by default. For smooth they need a queue; by default it makes a merchant
                     that has one, ${SMOOTH_MERCHANT}, if it is not there
  --gateway URL      http://127.0.0.1:8080 by default, or the port in GATEWAY_PORT
  --rules-api URL    http://127.0.0.1:3000 by default, or the port in RULES_API_PORT: it tells the limits
  --token TOKEN      the admin token; by default TOLLGATE_ADMIN_TOKEN, or the one that npm start keeps
  --help             this text

Load goes to this machine only. In a network of containers, TOLLGATE_LOAD_TARGET may name the gateway's service.

The results are written to load/PROFILE.json in the data directory (TOLLGATE_DATA_DIR, .tollgate by default).
Exit code: 0 if all is well, 1 if a bound was exceeded or a request failed other than by a refusal, 2 if there was no run.`;

const OPTIONS = { seconds: TEXT, users: TEXT, merchants: TEXT, gateway: TEXT, 'rules-api': TEXT, token: TEXT, help: HELP_FLAG };

/**
 * @typedef {object} LoadOptions
 * @property {string} profile
 * @property {number} seconds
 * @property {number} users
 * @property {string} merchants ids with commas between
 * @property {boolean} makesMerchant they are made if they are not there
 * @property {string} gateway
 * @property {boolean} gatewayIsNamed the gateway is the one of TOLLGATE_LOAD_TARGET
 * @property {string} rulesApi
 * @property {string} token
 * @property {string} dataDir of npm start
 * @property {string} results a directory
 */

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {LoadOptions | 'help'}
 * @throws {Refusal} that names every fault
 */
export function readOptions(args, env) {
  const { values, positionals } = parsedArguments(args, OPTIONS);
  if (values.help) return 'help';
  /** @type {string[]} */
  const faults = [];
  const [profile = '', ...more] = positionals;
  if (!Object.hasOwn(PROFILES, profile) || more.length > 0) {
    faults.push(`Give one profile: ${Object.keys(PROFILES).join(', ')}; got ${positionals.join(' ') || 'none'}.`);
  }
  const seconds = wholeNumber('--seconds', values.seconds ?? '20', 1, 600, faults);
  const users = wholeNumber('--users', values.users ?? '20', 1, 1000, faults);
  const merchants = values.merchants ?? merchantsOf(profile);
  const count = new Set(
    merchants
      .split(',')
      .map((id) => id.trim())
      .filter(Boolean),
  ).size;
  if (count === 0) faults.push('--merchants must be ids with commas between.');
  else if (users < count) faults.push(`--users must be at least ${count}, one for each merchant; got ${users}.`);

  const target = values.gateway === undefined ? env['TOLLGATE_LOAD_TARGET'] : undefined;
  const gateway = values.gateway ?? target ?? `http://127.0.0.1:${env['GATEWAY_PORT'] || 8080}`;
  if (target === undefined) demandLoopback('--gateway', gateway, faults);
  const rulesApi = values['rules-api'] ?? env['TOLLGATE_LOAD_RULES_API'] ?? `http://127.0.0.1:${env['RULES_API_PORT'] || 3000}`;
  if (target === undefined) demandLoopback('--rules-api', rulesApi, faults);

  const dataDir = dataDirOf(env);
  const token = values.token || env['TOLLGATE_ADMIN_TOKEN'] || keptToken(dataDir);
  if (!token)
    faults.push(
      `There is no admin token in ${dataDir}: is Tollgate running (npm start)? If it runs elsewhere, give --token or TOLLGATE_ADMIN_TOKEN.`,
    );
  if (faults.length > 0) throw new Refusal(faults.join('\n'));
  return {
    profile,
    seconds,
    users,
    merchants,
    makesMerchant: profile === 'smooth' && values.merchants === undefined,
    gateway,
    gatewayIsNamed: target !== undefined,
    rulesApi,
    token,
    dataDir,
    results: join(dataDir, 'load'),
  };
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} min
 * @param {number} max
 * @param {string[]} faults
 */
function wholeNumber(name, text, min, max, faults) {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  faults.push(`${name} must be a whole number from ${min} to ${max}; got ${text}.`);
  return max;
}

/**
 * Refuses before anything is installed or sent; locust/settings.py demands the same of whoever calls Locust directly.
 * @param {string} name
 * @param {string} address
 * @param {string[]} faults
 */
function demandLoopback(name, address, faults) {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    faults.push(`${name} must be an address such as http://127.0.0.1:8080; got ${address}.`);
  } else if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    faults.push(`${name} must be on this machine (127.0.0.1, ::1, localhost): load is not for other people's servers; got ${address}.`);
  }
}

/** @param {string} dataDir */
function keptToken(dataDir) {
  const file = join(dataDir, 'admin-token');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}
