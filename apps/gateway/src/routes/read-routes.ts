import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { completed, type Fault, isPlainObject, objectFaults, shown } from '#limiter';
import { isExceptable } from '#platform';
import { DEFAULT_ROUTE, type Routing, serverAt } from '../proxy/index.js';
import { ROUTES_FIELDS, type RoutesDocument } from './route-fields.js';

/** More than 500 routes need, and read in a moment: requests wait meanwhile. */
export const MOST_FILE_BYTES = 256 * 1024;

/** So many faults are told. */
const MOST_FAULTS = 20;

/** Aliases that a file may have. */
const MOST_ALIASES = 100;

/** What upstreams and routes have that say nothing of their own. */
export interface RouteDefaults {
  readonly connections: number;
  readonly queueTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyIdleTimeoutMs: number;
  readonly exchangeTimeoutMs: number;
  /** Headers by which the gateway knows somebody; in lower case. */
  readonly ownHeaders: readonly string[];
}

/** A file that is no set of routes. The message has a line for each fault, with the place in the file. */
export class RoutesError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'RoutesError';
  }
}

/**
 * Reads routes.
 *
 * @throws RoutesError
 */
export function readRoutes(text: string, defaults: RouteDefaults): Routing {
  if (Buffer.byteLength(text) > MOST_FILE_BYTES) throw new RoutesError([`the file is longer than ${MOST_FILE_BYTES} bytes`]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  throwIfAny(document.errors.map(({ pos, message }) => `line ${lineAt(pos[0])}: ${message}`));
  const value = plainValue(document);
  if (!isPlainObject(value)) throw new RoutesError([`line 1: must be an object with version, upstreams and routes, got ${shown(value)}`]);
  const told = (faults: readonly Fault[]): string[] =>
    faults.map((fault) => `line ${lineAt(offsetOf(document, fault.pointer))}: ${fault.pointer || '/'} ${withoutSecrets(fault)}`);
  throwIfAny(told(objectFaults(value, ROUTES_FIELDS, { pointer: '', code: 'routes' })));
  const routes = completed(value, ROUTES_FIELDS) as unknown as RoutesDocument;
  throwIfAny(told(faultsBetween(routes, defaults)));
  return routingOf(routes, defaults);
}

function throwIfAny(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const more = faults.length - MOST_FAULTS;
  throw new RoutesError([...faults.slice(0, MOST_FAULTS), ...(more > 0 ? [`and ${more} more`] : [])]);
}

function plainValue(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    throw new RoutesError([`the aliases cannot be resolved: ${(error as Error).message}`]);
  }
}

/** Where a value stands, or what comes next to it if it is missing. */
function offsetOf(document: Document, pointer: string): number {
  let node = document.contents as Node | null | undefined;
  let offset = node?.range?.[0] ?? 0;
  for (const escaped of pointer.split('/').slice(1)) {
    const part = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    if (isAlias(node)) node = node.resolve(document);
    if (isMap<Node, Node | null>(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
      if (pair === undefined) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node)) {
      node = node.items[Number(part)];
      offset = node?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}

/** Headers may carry the gateway's own credentials for an upstream, and addresses that are refused credentials of somebody. */
function withoutSecrets({ pointer, detail }: Fault): string {
  if (/Headers\/set\//.test(pointer)) return detail.replace(/, got .*$/s, '');
  return detail.replace(/\/\/[^/\s"]*@/g, '//[redacted]@');
}

/** What is wrong between fields that are right one by one. */
function faultsBetween({ upstreams, routes }: RoutesDocument, { ownHeaders }: RouteDefaults): Fault[] {
  const names = upstreams.map(({ name }) => name);
  return [
    ...nameFaults('upstreams', names),
    ...upstreams.flatMap((upstream, i) => upstreamFaults(upstream, `/upstreams/${i}`)),
    ...nameFaults(
      'routes',
      routes.map(({ name }) => name),
    ),
    ...routes.flatMap((route, i) => routeFaults(route, `/routes/${i}`, names, ownHeaders)),
    ...hiddenRoutes(routes),
  ];
}

function nameFaults(list: 'upstreams' | 'routes', names: readonly string[]): Fault[] {
  return names.flatMap((name, i) => {
    const at = { pointer: `/${list}/${i}/name`, code: `routes.${list}.name` };
    if (name === DEFAULT_ROUTE) return [faultOf(at, 'not_one_of', `must not be ${DEFAULT_ROUTE}, which is what UPSTREAM_URL makes`)];
    return names.indexOf(name) < i ? [faultOf(at, 'repeated', `must differ from the others, got ${shown(name)} again`)] : [];
  });
}

type Upstream = RoutesDocument['upstreams'][number];
type Route = RoutesDocument['routes'][number];

function upstreamFaults({ addresses, passiveHealth }: Upstream, pointer: string): Fault[] {
  const servers = addresses.map(serverAt);
  const origins = servers.map(({ url }) => url.origin);
  const repeated = origins.flatMap((origin, i) =>
    origins.indexOf(origin) < i
      ? [faultOf({ pointer: `${pointer}/addresses/${i}`, code: 'routes.upstreams.addresses' }, 'repeated', `must not repeat ${origin}`)]
      : [],
  );
  const other = servers.findIndex(({ http2 }) => http2 !== servers[0]!.http2);
  if (other !== -1) {
    const at = { pointer: `${pointer}/addresses/${other}`, code: 'routes.upstreams.addresses' };
    repeated.push(faultOf(at, 'not_applicable', 'must be h2c as well where one address of an upstream is'));
  }
  if (passiveHealth === null || passiveHealth.maxEjectMs >= passiveHealth.ejectMs) return repeated;
  const at = { pointer: `${pointer}/passiveHealth/maxEjectMs`, code: 'routes.upstreams.passiveHealth.maxEjectMs' };
  return [...repeated, faultOf(at, 'out_of_range', `must not be less than ejectMs, which is ${passiveHealth.ejectMs}`)];
}

function routeFaults(route: Route, pointer: string, upstreams: readonly string[], ownHeaders: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const note = (field: string, reason: string, detail: string): void =>
    void faults.push(faultOf({ pointer: `${pointer}/${field}`, code: `routes.routes.${field.replaceAll('/', '.')}` }, reason, detail));
  const { upstream, lane, hosts, paths, pathExceptions } = route;
  if (!upstreams.includes(upstream)) note('upstream', 'not_one_of', `must be an upstream of the file, got ${shown(upstream)}`);
  if (lane && hosts.length + paths.length + pathExceptions.length > 0) {
    note('hosts', 'not_applicable', 'and paths do not go with a lane, which takes only what rules send there');
  }
  if (pathExceptions.length > 0 && (paths.length === 0 || !paths.every(isExceptable))) {
    note('paths', 'not_applicable', 'must each begin with a segment without wildcard, and have no escapes, where there are pathExceptions');
  }
  for (const field of ['requestHeaders', 'responseHeaders'] as const) {
    const set = Object.keys(route[field].set).map((name) => name.toLowerCase());
    const removed = route[field].remove.map((name) => name.toLowerCase());
    const own = [...set, ...removed].find((name) => ownHeaders.includes(name));
    if (own !== undefined) note(field, 'malformed', `must leave ${own} alone, by which the gateway knows somebody`);
    const both = set.find((name, i) => removed.includes(name) || set.indexOf(name) < i);
    if (both !== undefined) note(field, 'repeated', `must name ${both} once`);
  }
  return faults;
}

/** A route that no request reaches is more likely an error than meant. */
function hiddenRoutes(routes: readonly Route[]): Fault[] {
  const takesAll = ({ lane, hosts, paths }: Route): boolean => !lane && hosts.length === 0 && (paths.length === 0 || paths.includes('/**'));
  const all = routes.findIndex(takesAll);
  return routes.flatMap(({ lane }, i) =>
    all === -1 || i <= all || lane
      ? []
      : [
          faultOf(
            { pointer: `/routes/${i}`, code: 'routes.route' },
            'never_reached',
            `gets no request: route ${routes[all]!.name} before it takes all`,
          ),
        ],
  );
}

function faultOf({ pointer, code }: { pointer: string; code: string }, reason: string, detail: string): Fault {
  return { pointer, code: `${code}.${reason}`, detail };
}

function routingOf({ upstreams, routes }: RoutesDocument, defaults: RouteDefaults): Routing {
  const { connections, queueTimeoutMs, headersTimeoutMs, bodyIdleTimeoutMs, exchangeTimeoutMs } = defaults;
  const ofUpstream = { connections, queueTimeoutMs, headersTimeoutMs, bodyIdleTimeoutMs };
  return {
    upstreams: upstreams.map((each) => ({ ...ofUpstream, ...each, ...serversOf(each) })),
    routes: routes.map((each) => ({ exchangeTimeoutMs, ...each })),
  };
}

function serversOf({ addresses }: Upstream): { addresses: readonly URL[]; http2: boolean } {
  const servers = addresses.map(serverAt);
  return { addresses: servers.map(({ url }) => url), http2: servers[0]!.http2 };
}
