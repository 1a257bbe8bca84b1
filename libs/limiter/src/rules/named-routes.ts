import { pathMatcher, type PathMatcher } from '../matching/path-pattern.js';
import { namesMethod } from './rule-method.js';

/** Requests, told apart by their methods and paths alone. An empty list means any path, and any method but OPTIONS. */
export interface NamedRoute {
  readonly methods: readonly string[];
  readonly paths: readonly string[];
}

/** Tells whether a request is on one of several routes. */
export class NamedRoutes {
  private compiled: readonly { readonly methods: readonly string[]; readonly matchers: readonly PathMatcher[] }[] | undefined;

  constructor(private readonly routes: readonly NamedRoute[]) {}

  /** Whether a path makes no difference. */
  get isPathless(): boolean {
    return this.routes.every(({ paths }) => paths.length === 0);
  }

  /** Made ready when it is first asked: most never are. HEAD is where GET is. */
  include(method: string, segments: readonly string[], ignoreCase: boolean): boolean {
    this.compiled ??= this.routes.map(({ methods, paths }) => ({ methods, matchers: paths.map(pathMatcher) }));
    const asGet = method === 'HEAD' ? 'GET' : method;
    return this.compiled.some(
      ({ methods, matchers }) =>
        (namesMethod(methods, method) || methods.includes(asGet)) &&
        (matchers.length === 0 || matchers.some((matches) => matches(segments, ignoreCase))),
    );
  }
}
