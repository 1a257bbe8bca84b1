import { createPathReader, type PathReader } from '#edge';
import { pathMatcher, pathSegments, type PathMatcher } from '#limiter';
import type { PathException, PathExceptionKind, PathPolicy } from '#platform';
import { headerRewrite, type HeaderRewrite, type HeaderRewriteOptions } from './messages/header-rewrite.js';
import type { Problem } from './problems.js';
import type { Upstream, UpstreamOptions } from './upstream/upstream.js';
import type { Upstreams } from './upstream/upstreams.js';

export interface RouteOptions {
  /** Bounded, as there are few routes. */
  readonly name: string;
  /** By name. */
  readonly upstream: string;
  /** Like api.example.com, or *.example.com for all below it; in lower case. Empty: any. */
  readonly hosts: readonly string[];
  /** Path patterns as in rules. Empty: any. */
  readonly paths: readonly string[];
  /** No request gets here but those that a rule sends here. */
  readonly lane: boolean;
  /** What the path policy lets through for these paths. */
  readonly pathExceptions: readonly PathExceptionKind[];
  /** A whole exchange. */
  readonly exchangeTimeoutMs: number;
  /** Of a request; undefined: no bound. */
  readonly maxBodyBytes?: number | undefined;
  readonly requestHeaders: HeaderRewriteOptions;
  readonly responseHeaders: HeaderRewriteOptions;
}

/** Where requests go: the first route that a request fits takes it. */
export interface Routing {
  readonly upstreams: readonly UpstreamOptions[];
  readonly routes: readonly RouteOptions[];
}

/** A route, ready for requests. */
export interface Route {
  readonly name: string;
  readonly upstream: Upstream;
  readonly exchangeTimeoutMs: number;
  /** Infinity: no bound. */
  readonly maxBodyBytes: number;
  readonly requestHeaders: HeaderRewrite | undefined;
  readonly responseHeaders: HeaderRewrite | undefined;
}

export interface RouteTable {
  /** Makes one target of what came, for routes, rules and the upstream; or says why there is none. */
  readPath(target: string, host: string): string | Problem;
  /** @param target as `readPath` has left it */
  routeFor(target: string, host: string): Route | undefined;
  /** A route by its name, a lane or not. */
  named(name: string): Route | undefined;
}

interface Settings {
  readonly pathPolicy: PathPolicy;
  readonly pathPolicyExceptions: readonly PathException[];
  readonly pathCaseSensitive: boolean;
}

/** Puts the upstreams of these routes in place of the present ones. */
export function createRouteTable({ upstreams: options, routes }: Routing, settings: Settings, upstreams: Upstreams): RouteTable {
  const byName = new Map(upstreams.replace(options).map((upstream) => [upstream.name, upstream]));
  const ready = routes.map((route) => new MatchedRoute(route, byName.get(route.upstream)!, settings));
  const readPath = createPathReader({ policy: settings.pathPolicy, exceptions: settings.pathPolicyExceptions });
  const [first] = ready;
  return ready.length === 1 && first!.takesAll
    ? { readPath, routeFor: () => first, named: (name) => (first!.name === name ? first : undefined) }
    : new SeveralRoutes(ready, readPath, !settings.pathCaseSensitive);
}

class MatchedRoute implements Route {
  readonly name: string;
  readonly lane: boolean;
  readonly exchangeTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly requestHeaders: HeaderRewrite | undefined;
  readonly responseHeaders: HeaderRewrite | undefined;
  readonly pathless: boolean;
  /** With the exceptions of this route, if it has some. */
  readonly readPath: PathReader | undefined;

  private readonly hosts: ReadonlySet<string>;
  /** With the dot in front. */
  private readonly suffixes: readonly string[];
  private readonly paths: readonly PathMatcher[];

  constructor(
    options: RouteOptions,
    readonly upstream: Upstream,
    { pathPolicy, pathPolicyExceptions }: Settings,
  ) {
    const { hosts, paths, pathExceptions: kinds } = options;
    this.name = options.name;
    this.lane = options.lane;
    this.exchangeTimeoutMs = options.exchangeTimeoutMs;
    this.maxBodyBytes = options.maxBodyBytes ?? Infinity;
    this.requestHeaders = headerRewrite(options.requestHeaders);
    this.responseHeaders = headerRewrite(options.responseHeaders);
    this.hosts = new Set(hosts.filter((host) => !host.startsWith('*')));
    this.suffixes = hosts.filter((host) => host.startsWith('*')).map((host) => host.slice(1));
    this.paths = paths.map(pathMatcher);
    this.pathless = paths.length === 0;
    const exceptions = [...pathPolicyExceptions, ...paths.map((pattern) => ({ kinds, pattern }))];
    this.readPath = kinds.length === 0 ? undefined : createPathReader({ policy: pathPolicy, exceptions });
  }

  get takesAll(): boolean {
    return !this.lane && this.hosts.size === 0 && this.suffixes.length === 0 && this.pathless && this.readPath === undefined;
  }

  takesHost(host: string): boolean {
    const { hosts, suffixes } = this;
    if (hosts.size === 0 && suffixes.length === 0) return true;
    if (hosts.has(host)) return true;
    for (const suffix of suffixes) if (host.length > suffix.length && host.endsWith(suffix)) return true;
    return false;
  }

  takesPath(segments: readonly string[], ignoreCase: boolean): boolean {
    if (this.pathless) return true;
    for (const matches of this.paths) if (matches(segments, ignoreCase)) return true;
    return false;
  }
}

class SeveralRoutes implements RouteTable {
  private readonly matched: readonly MatchedRoute[];
  /** Those with exceptions from the path policy. */
  private readonly excepting: readonly MatchedRoute[];
  private readonly pathless: boolean;
  private readonly byName: ReadonlyMap<string, Route>;

  constructor(
    routes: readonly MatchedRoute[],
    private readonly readOrdinary: PathReader,
    private readonly ignoreCase: boolean,
  ) {
    this.matched = routes.filter(({ lane }) => !lane);
    this.excepting = this.matched.filter(({ readPath }) => readPath !== undefined);
    this.pathless = this.matched.every(({ pathless }) => pathless);
    this.byName = new Map(routes.map((route) => [route.name, route]));
  }

  /** An exception counts for requests that the route with the exception takes, and for no other's. */
  readPath(target: string, host: string): string | Problem {
    const ordinary = this.readOrdinary(target);
    if (ordinary === target) return ordinary;
    for (const route of this.excepting) {
      const excepted = route.readPath!(target);
      if (typeof excepted === 'string' && this.routeFor(excepted, host) === route) return excepted;
    }
    return ordinary;
  }

  routeFor(target: string, host: string): Route | undefined {
    const name = hostName(host);
    const segments = this.pathless ? NO_SEGMENTS : pathSegments(target, this.ignoreCase);
    for (const route of this.matched) if (route.takesHost(name) && route.takesPath(segments, this.ignoreCase)) return route;
    return undefined;
  }

  named(name: string): Route | undefined {
    return this.byName.get(name);
  }
}

const NO_SEGMENTS: readonly string[] = [];

/** Without the port, in lower case, and without the dot that ends a full name. */
function hostName(host: string): string {
  const colon = host.indexOf(':', host.lastIndexOf(']') + 1);
  const name = colon === -1 ? host : host.slice(0, colon);
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}
