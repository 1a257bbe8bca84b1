import { pathMatcher, pathSegments } from '#limiter';
import { CRITICALITIES, type CriticalRoute, type Criticality } from '#platform';

/** What the criticality of a request follows from. */
export interface CriticalityFacts {
  readonly method: string;
  readonly target: string;
  /** Whether the peer is believed. */
  readonly trusted: boolean;
  receivedValues(name: string): readonly string[];
}

export type CriticalityOf = (request: CriticalityFacts) => Criticality;

export interface CriticalityOptions {
  readonly routes: readonly CriticalRoute[];
  /** The header in which trusted peers say it, in lower case; empty: they do not. */
  readonly header: string;
  readonly pathCaseSensitive: boolean;
}

/** What a trusted peer says counts, if it is one of the words; then the first route that fits. Undefined: nothing is said of any request. */
export function createCriticalityOf({ routes, header, pathCaseSensitive }: CriticalityOptions): CriticalityOf | undefined {
  if (routes.length === 0 && header === '') return undefined;
  const ready = routes.map(({ criticality, methods, pattern }) => ({ criticality, methods, matches: pathMatcher(pattern) }));
  const ignoreCase = !pathCaseSensitive;
  const ofRoute = (method: string, target: string): Criticality => {
    const segments = pathSegments(target, ignoreCase);
    // HEAD asks for what GET would get.
    const asGet = method === 'HEAD' ? 'GET' : method;
    const fits = ({ methods, matches }: (typeof ready)[number]): boolean =>
      (methods.length === 0 || methods.includes(method) || methods.includes(asGet)) && matches(segments, ignoreCase);
    return ready.find(fits)?.criticality ?? 'normal';
  };
  return (request) => {
    const said = header !== '' && request.trusted ? saidIn(request.receivedValues(header)) : undefined;
    if (said !== undefined) return said;
    return ready.length === 0 ? 'normal' : ofRoute(request.method, request.target);
  };
}

/** Two answers are none. */
function saidIn(values: readonly string[]): Criticality | undefined {
  return values.length === 1 ? CRITICALITIES.find((each) => each === values[0]!.trim().toLowerCase()) : undefined;
}
