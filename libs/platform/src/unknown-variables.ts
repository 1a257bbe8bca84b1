import type { Logger } from './logger.js';
import { VARIABLES } from './variables.js';

const KNOWN = Object.values(VARIABLES).map(({ name }) => name);

/** Nobody else's variables begin so: what Tollgate does not know of these is a mistake, whatever it looks like. */
const OWN_PREFIXES = ['TOLLGATE_', 'GATEWAY_', 'RULES_API_', 'DECISION_API_', 'PRELOADER_'];

/** Of the command line, of load profiles and of tests, which are no apps. */
const OTHERS = ['TOLLGATE_URL', 'TOLLGATE_TOKEN', 'TOLLGATE_DATA_DIR', 'TOLLGATE_OPTIONS', 'TOLLGATE_PRETEND', 'RULES_API_URL'];
const OTHER_PREFIXES = ['TOLLGATE_LOAD_', 'TOLLGATE_TEST_', 'TOLLGATE_FAULT_', 'TOLLGATE_COLD_'];

/** What Kubernetes and Docker set for a service that is called gateway: such names, and a name that ends in _PORT with such a value. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;
const LINKED_PORT = /^(?:tcp|udp|sctp):\/\//;

/** Letters by which a name of any prefix may differ from one of ours. Other programs have names that are as near as three. */
const MOST_SLIPS = 2;
/** Of a name with fewer letters for each slip, two may differ by chance. */
const LETTERS_FOR_A_SLIP = 5;

const MOST_NAMED = 20;

/** Finds the known name that somebody may have meant, by so many different letters or, without a number, as a person would. */
export type NearestName = (name: string, known: readonly string[], different?: number) => string | undefined;

export interface UnknownVariable {
  readonly name: string;
  readonly meant: string | undefined;
}

/** Variables of an environment that look as if they were meant for an app of Tollgate, and that no app reads. */
export function unknownVariables(env: NodeJS.ProcessEnv, nearestName: NearestName): UnknownVariable[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if ((KNOWN as readonly string[]).includes(name) || OTHERS.includes(name) || OTHER_PREFIXES.some((prefix) => name.startsWith(prefix)))
      return [];
    const isOwn = OWN_PREFIXES.some((prefix) => name.startsWith(prefix));
    if (SERVICE_LINK.test(name) || LINKED_PORT.test(value ?? '')) return [];
    const meant = nearestName(name, KNOWN, isOwn ? undefined : Math.min(MOST_SLIPS, Math.floor(name.length / LETTERS_FOR_A_SLIP)));
    return isOwn || meant !== undefined ? [{ name, meant }] : [];
  });
}

/** Says once what is ignored: a misspelt name is a default that nobody asked for. Values are not shown, they may be secrets. */
export function warnOfUnknownVariables(logger: Logger, nearestName: NearestName, env: NodeJS.ProcessEnv = process.env): void {
  const unknown = unknownVariables(env, nearestName);
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MOST_NAMED).map(({ name, meant }) => (meant === undefined ? name : `${name} (did you mean ${meant}?)`));
  const others = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : '';
  logger.warn(`these environment variables are not known and are ignored: ${named.join(', ')}${others}`);
}
