import { completed, objectFaults, type Fields } from '#limiter';
import { parsePathExceptions, problemTypeBase, type PathException } from '#platform';
import { rulesOfCode, type CodeRule } from './code-rules.js';
import { OPTION_FIELDS, REQUEST_FIELDS, ROUTE_FIELDS } from './option-fields.js';
import type { RequestOptions, RouteOptions, TollgateOptions } from './options.js';
import { OptionsError, placed } from './options-error.js';

/** With every default, and with what is told of requests apart. */
export type TollgateSettings = Required<
  Pick<
    TollgateOptions,
    | 'redisUrl'
    | 'storedRules'
    | 'unknownMerchant'
    | 'trustedProxies'
    | 'rateLimitHeaders'
    | 'rateLimitReset'
    | 'problemTypeBase'
    | 'storeTimeoutMs'
    | 'leaseHorizonMs'
    | 'leaseCacheMb'
    | 'ruleCacheMb'
    | 'gatewaysExpected'
    | 'idempotencyWindowMs'
    | 'idempotencyRetries'
    | 'idempotencyKeysPerMerchant'
    | 'maxWaiting'
    | 'graceMs'
  >
> &
  Pick<TollgateOptions, 'databaseUrl' | 'pathCaseSensitive' | 'logger' | 'registry'> & {
    readonly exceptions: readonly PathException[];
    readonly rules: ReturnType<typeof rulesOfCode>;
    readonly requests: RequestOptions;
  };

/** @throws OptionsError that names every wrong option */
export function settingsOf(options: TollgateOptions): TollgateSettings {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  checkFields(given, OPTION_FIELDS, '');
  const { databaseUrl, storedRules, rules = [] } = options;
  if (storedRules === false && databaseUrl !== undefined)
    throw new OptionsError([{ at: 'databaseUrl', detail: 'goes with storedRules: true only: without stored rules nobody reads them' }]);
  if (storedRules === false && options.unknownMerchant !== undefined)
    throw new OptionsError([
      { at: 'unknownMerchant', detail: 'goes with storedRules: true only: without stored rules no merchant is unknown' },
    ]);
  const whole = completed(given, OPTION_FIELDS) as unknown as TollgateSettings & { readonly pathPolicyExceptions: string };
  return {
    ...whole,
    problemTypeBase: problemTypeBase(whole.problemTypeBase),
    exceptions: parsePathExceptions(whole.pathPolicyExceptions),
    rules: rulesOfCode(rules, (i) => `rules[${i}]`),
    requests: requestOptionsOf(options),
  };
}

/** What a route says, and the rules that it brings. */
export interface RouteSettings {
  readonly requests: RequestOptions;
  readonly route?: string | undefined;
  readonly rules: ReturnType<typeof rulesOfCode>;
}

/** Rules of one route go before those of a whole service, which have a priority of 100. */
const ROUTE_PRIORITY = 200;

/**
 * @param at where the options stand, for messages
 * @param usualRoute the name that the route has unless it says another one; without any it can have no rules
 * @throws OptionsError
 */
export function routeSettingsOf(options: RouteOptions, at: string, usualRoute?: string): RouteSettings {
  checkFields(options as Readonly<Record<string, unknown>>, ROUTE_FIELDS, at);
  const { limit, windowMs, key, rules = [], route = usualRoute } = options;
  const short = limit === undefined && windowMs === undefined ? [] : [{ limit, windowMs, ...(key !== undefined && { key }) } as CodeRule];
  if (key !== undefined && short.length === 0) throw new OptionsError([{ at: `${at}.key`, detail: 'goes with limit and windowMs' }]);
  if (short.length + rules.length > 0 && route === undefined)
    throw new OptionsError([{ at: `${at}.route`, detail: 'must be given where there are rules: it says whose they are' }]);
  const presets = { priority: ROUTE_PRIORITY, ...(route !== undefined && { route, name: route.slice(0, MOST_NAME) }) };
  return {
    requests: requestOptionsOf(options),
    route,
    rules: [...rulesOfCode(short, () => at, presets), ...rulesOfCode(rules, (i) => `${at}.rules[${i}]`, presets)],
  };
}

const MOST_NAME = 100;

function checkFields(value: unknown, fields: Fields, at: string): void {
  if (typeof value !== 'object' || value === null) throw new OptionsError([{ at, detail: 'must be an object' }]);
  const faults = objectFaults(value as Readonly<Record<string, unknown>>, fields, { pointer: '', code: 'options' });
  if (faults.length > 0) throw new OptionsError(placed(faults, at));
}

function requestOptionsOf(options: RequestOptions): RequestOptions {
  const given = Object.keys(REQUEST_FIELDS).filter((name) => options[name as keyof RequestOptions] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name as keyof RequestOptions]])) as RequestOptions;
}
