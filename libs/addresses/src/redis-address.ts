/** What a URL of Redis says. The only place that reads one. */

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** How a server is to be believed that it is the one, and how it believes us. Names of files with PEM. */
export interface RedisTls {
  /** The authorities that may have signed its certificate; those that Node.js knows unless given. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** The name in its certificate, where that is not the host. */
  readonly serverName?: string | undefined;
}

export interface RedisLogin {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

interface Common {
  readonly login: RedisLogin;
  /** Undefined: no TLS. */
  readonly tls: RedisTls | undefined;
  /** The version of IP; both unless given. */
  readonly family: 4 | 6 | undefined;
}

export type RedisAddress =
  | (Common & { readonly kind: 'single'; readonly node: RedisNode; readonly db: number })
  | (Common & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly RedisNode[];
      readonly group: string;
      readonly db: number;
      readonly sentinelLogin: RedisLogin;
    })
  /** Some nodes of the cluster: it names the others itself. */
  | (Common & { readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] });

/** The message says what was expected. It never quotes the URL, which may have a password. */
export class RedisUrlError extends Error {}

export const REDIS_URL_EXAMPLES =
  'a URL like redis://127.0.0.1:6379, redis+sentinel://host1:26379,host2:26379/group or redis+cluster://host1:6379,host2:6379';

const MOST_CHARACTERS = 8192;
const MOST_NODES = 100;
const MOST_DATABASES = 65_536;
const URL_FORM = /^(redis|rediss)(\+sentinel|\+cluster)?:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i;
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})$/;
const IPV6 = /^\[([0-9A-Fa-f:.%]{2,60})\]$/;
/** As Sentinel itself demands. */
const GROUP = /^[A-Za-z0-9._-]{1,128}$/;

const TLS_PARAMETERS = ['tlsCaFile', 'tlsCertFile', 'tlsKeyFile', 'tlsServerName'] as const;
const SENTINEL_PARAMETERS = ['sentinelUsername', 'sentinelPassword'] as const;
const PARAMETERS = ['family', ...TLS_PARAMETERS, ...SENTINEL_PARAMETERS] as const;
type Parameter = (typeof PARAMETERS)[number];
type Parameters = Partial<Record<Parameter, string>>;

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26_379;

/** @throws RedisUrlError */
export function parseRedisUrl(text: string): RedisAddress {
  const found = text.length > MOST_CHARACTERS ? null : URL_FORM.exec(text);
  if (found === null) return fail(REDIS_URL_EXAMPLES);
  const [, scheme, form = '', authority = '', path = '', query = ''] = found;
  const secure = scheme!.toLowerCase() === 'rediss';
  const at = authority.lastIndexOf('@');
  const login = loginOf(authority.slice(0, Math.max(0, at)));
  const hosts = authority.slice(at + 1);
  const parameters = parametersOf(query);
  const common = { login, tls: tlsOf(secure, parameters), family: familyOf(parameters.family) };
  const kind = form.toLowerCase();
  if (kind !== '+sentinel' && SENTINEL_PARAMETERS.some((name) => parameters[name] !== undefined))
    return fail('sentinelUsername and sentinelPassword in a URL of redis+sentinel only');
  if (kind === '+cluster') {
    if (path !== '' && path !== '/' && path !== '/0') return fail('no database behind the hosts of a cluster: it has only one');
    return { kind: 'cluster', nodes: nodesOf(hosts, DEFAULT_PORT), ...common };
  }
  if (kind === '+sentinel') {
    const [, group = '', db = ''] = path.split('/');
    if (!GROUP.test(group) || path.split('/').length > 3) return fail('the name of the Sentinel group behind the hosts, like /mymaster');
    const sentinelLogin = { username: parameters.sentinelUsername, password: parameters.sentinelPassword };
    return { kind: 'sentinel', sentinels: nodesOf(hosts, DEFAULT_SENTINEL_PORT), group, db: databaseOf(db), sentinelLogin, ...common };
  }
  const [node, ...others] = nodesOf(hosts, DEFAULT_PORT);
  if (others.length > 0) return fail('one host; several belong into redis+sentinel:// or redis+cluster://');
  return { kind: 'single', node: node!, db: databaseOf(path.slice(1)), ...common };
}

/** For people: what is asked, without user and password. */
export function describeRedis(address: RedisAddress): string {
  const named = (nodes: readonly RedisNode[]): string => nodes.map(nodeName).join(', ');
  if (address.kind === 'single') return nodeName(address.node);
  if (address.kind === 'cluster') return `the cluster of ${named(address.nodes)}`;
  return `the Sentinel group ${address.group} of ${named(address.sentinels)}`;
}

function nodeName({ host, port }: RedisNode): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function fail(expected: string): never {
  throw new RedisUrlError(expected);
}

function loginOf(text: string): RedisLogin {
  const colon = text.indexOf(':');
  const [username, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  return { username: decoded(username), password: decoded(password) };
}

function decoded(text: string): string | undefined {
  try {
    return text === '' ? undefined : decodeURIComponent(text);
  } catch {
    return fail('a user and a password in which % begins an escape like %40');
  }
}

function nodesOf(text: string, defaultPort: number): RedisNode[] {
  const hosts = text.split(',');
  if (hosts.length > MOST_NODES) return fail(`at most ${MOST_NODES} hosts`);
  return hosts.map((each) => nodeOf(each, defaultPort));
}

function nodeOf(text: string, defaultPort: number): RedisNode {
  const colon = text.lastIndexOf(':');
  const hasPort = colon > text.lastIndexOf(']');
  const name = hasPort ? text.slice(0, colon) : text;
  const digits = hasPort ? text.slice(colon + 1) : String(defaultPort);
  const host = IPV6.exec(name)?.[1] ?? (HOST.test(name) ? name : fail('a host, or several with commas between them, behind ://'));
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  return port >= 1 && port <= 65_535 ? { host, port } : fail('a port from 1 to 65535 behind each colon');
}

function databaseOf(text: string): number {
  const db = /^\d{0,5}$/.test(text) ? Number(text) : MOST_DATABASES;
  return db < MOST_DATABASES ? db : fail(`a database from 0 to ${MOST_DATABASES - 1}`);
}

function parametersOf(query: string): Parameters {
  const parameters: Parameters = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const known = PARAMETERS.find((each) => each === name);
    if (known === undefined) return fail(`no parameters but ${PARAMETERS.join(', ')}`);
    if (parameters[known] !== undefined) return fail(`${known} once`);
    if (value === '') return fail(`a value of ${known}`);
    parameters[known] = value;
  }
  return parameters;
}

function tlsOf(secure: boolean, { tlsCaFile, tlsCertFile, tlsKeyFile, tlsServerName }: Parameters): RedisTls | undefined {
  const tls = { caFile: tlsCaFile, certFile: tlsCertFile, keyFile: tlsKeyFile, serverName: tlsServerName };
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) return fail('tlsCertFile and tlsKeyFile together');
  if (secure) return tls;
  return Object.values(tls).some((value) => value !== undefined)
    ? fail(`${TLS_PARAMETERS.join(', ')} in a URL that begins with rediss only`)
    : undefined;
}

function familyOf(text: string | undefined): 4 | 6 | undefined {
  if (text === undefined || text === '0') return undefined;
  return text === '4' || text === '6' ? (Number(text) as 4 | 6) : fail('family=4 or family=6');
}
