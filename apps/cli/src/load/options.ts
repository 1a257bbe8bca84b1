import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirOf } from '#scripts/paths.mjs';
import { commaSeparated, type Faults } from '../shared/options.js';

interface Profile {
  /** In the folder of Locust's files. */
  readonly file: string;
  readonly meaning: string;
}

export const PROFILES = {
  steady: { file: 'steady.py', meaning: 'each merchant at about the rate at which its bucket refills' },
  burst: { file: 'burst.py', meaning: 'silence, then bursts of more than a full bucket holds, again and again' },
  'hot-merchant': { file: 'hot_merchant.py', meaning: 'the first merchant far above its rate, the others a little' },
  smooth: { file: 'smooth.py', meaning: 'all users at once, again and again, through a leaky bucket that delays: they leave it evenly' },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;

/** Has a queue, and is made by the profile that needs it. */
export const SMOOTH_MERCHANT = 'smooth';

/** The options as they were typed. */
export interface LoadFlags {
  readonly seconds: number;
  readonly users: number;
  readonly merchants?: string | undefined;
  readonly gateway?: string | undefined;
  readonly rulesApi?: string | undefined;
  readonly token?: string | undefined;
}

export interface LoadOptions {
  readonly profile: ProfileName;
  readonly seconds: number;
  readonly users: number;
  /** Ids with commas between. */
  readonly merchants: string;
  /** The merchant is created if it is not there. */
  readonly createsMerchant: boolean;
  readonly gateway: string;
  /** The gateway was named by TOLLGATE_LOAD_TARGET, which need not be on this machine. */
  readonly gatewayIsNamed: boolean;
  readonly rulesApi: string;
  readonly token: string;
  /** Of npm start. */
  readonly dataDir: string;
  /** The directory for results. */
  readonly results: string;
}

/** @throws {CommandError} that names every fault */
export function loadOptions(profile: string | undefined, flags: LoadFlags, env: NodeJS.ProcessEnv, faults: Faults): LoadOptions {
  if (!isProfile(profile)) faults.add(`Give one profile: ${Object.keys(PROFILES).join(', ')}; got ${profile ?? 'none'}.`);
  const merchants = flags.merchants ?? (profile === 'smooth' ? SMOOTH_MERCHANT : 'acme,globex');
  const { length } = commaSeparated(merchants);
  if (length === 0) faults.add('--merchants must be ids with commas between.');
  else if (flags.users < length) faults.add(`--users must be at least ${length}, one for each merchant; got ${flags.users}.`);

  const target = flags.gateway === undefined ? env['TOLLGATE_LOAD_TARGET'] : undefined;
  const gateway = flags.gateway ?? target ?? `http://127.0.0.1:${env['GATEWAY_PORT'] || 8080}`;
  const rulesApi = flags.rulesApi ?? env['TOLLGATE_LOAD_RULES_API'] ?? `http://127.0.0.1:${env['RULES_API_PORT'] || 3000}`;
  if (target === undefined) {
    demandLoopback('--gateway', gateway, faults);
    demandLoopback('--rules-api', rulesApi, faults);
  }
  const dataDir = dataDirOf(env);
  const token = flags.token || env['TOLLGATE_ADMIN_TOKEN'] || keptToken(dataDir);
  if (!token)
    faults.add(
      `There is no admin token in ${dataDir}: is Tollgate running (npm start)? If it runs elsewhere, give --token or TOLLGATE_ADMIN_TOKEN.`,
    );
  faults.demandNone();
  return {
    profile: profile as ProfileName,
    seconds: flags.seconds,
    users: flags.users,
    merchants,
    createsMerchant: profile === 'smooth' && flags.merchants === undefined,
    gateway,
    gatewayIsNamed: target !== undefined,
    rulesApi,
    token,
    dataDir,
    results: join(dataDir, 'load'),
  };
}

const isProfile = (name: string | undefined): name is ProfileName => name !== undefined && Object.hasOwn(PROFILES, name);

/** Before anything is installed or sent; locust/settings.py demands the same of whoever calls Locust directly. */
function demandLoopback(option: string, address: string, faults: Faults): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    faults.add(`${option} must be an address such as http://127.0.0.1:8080; got ${address}.`);
  } else if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    faults.add(`${option} must be on this machine (127.0.0.1, ::1, localhost): load is not for other people's servers; got ${address}.`);
  }
}

function keptToken(dataDir: string): string {
  const file = join(dataDir, 'admin-token');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}
