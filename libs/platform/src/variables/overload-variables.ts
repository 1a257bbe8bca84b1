import { expected, oneOf, wholeNumber, type Variable } from './variable.js';

/** How much it matters that a request is served when not all can be, the most critical first. */
export const CRITICALITIES = ['critical', 'normal', 'sheddable'] as const;
export type Criticality = (typeof CRITICALITIES)[number];

const UPSTREAM_LIMITS = ['fixed', 'adaptive'] as const;

/** Requests of some criticality. The first route that fits a request counts. */
export interface CriticalRoute {
  readonly criticality: Criticality;
  /** None: any. */
  readonly methods: readonly string[];
  /** A path pattern as rules have them. */
  readonly pattern: string;
}

const MOST_ROUTES = 64;
const ROUTE = /^([a-z]+):(?:([A-Z]+(?:,[A-Z]+)*):)?(\/[\w.~!$&'(),=:@*/-]{0,255})$/;
const EXPECTED = 'entries like critical:POST:/transactions/** or sheddable:/reports/**, separated by spaces, or none';

/**
 * Parses CRITICALITY_ROUTES.
 *
 * @throws ExpectationError
 */
export function parseCriticalRoutes(text: string): readonly CriticalRoute[] {
  if (text.trim() === 'none') return [];
  const entries = text.trim().split(/\s+/);
  return entries.length <= MOST_ROUTES ? entries.map(parseRoute) : expected(`at most ${MOST_ROUTES} entries`);
}

function parseRoute(entry: string): CriticalRoute {
  const [, name, methods, pattern] = ROUTE.exec(entry) ?? [];
  const criticality = CRITICALITIES.find((each) => each === name);
  if (criticality === undefined || !isPattern(pattern!)) return expected(`${EXPECTED}; there are ${CRITICALITIES.join(', ')}`);
  return { criticality, methods: methods?.split(',') ?? [], pattern: pattern! };
}

/** As path-pattern.ts of the limiter has it, which throws for others. */
function isPattern(pattern: string): boolean {
  const segments = pattern.slice(1).split('/');
  return (
    segments.filter((segment) => segment === '**').length <= 1 &&
    segments.every((segment) => segment === '**' || segment.split('*').length <= 2) &&
    !segments.some((segment) => segment === '.' || segment === '..') &&
    !segments.slice(0, -1).includes('')
  );
}

/** What the gateway does when the upstream has too much to do, in the order in which help texts print them. */
export const OVERLOAD_VARIABLES = {
  upstreamLimit: {
    name: 'UPSTREAM_LIMIT',
    apps: ['gateway'],
    default: 'fixed',
    meaning: 'how many requests may wait for the upstream at once: fixed (as many as it has connections), or adaptive (by its latency)',
    parse: oneOf(UPSTREAM_LIMITS),
  },
  upstreamLimitMin: {
    name: 'UPSTREAM_LIMIT_MIN',
    apps: ['gateway'],
    default: '10',
    meaning: 'requests below which an adaptive limit never falls',
    parse: wholeNumber(1, 65_535, ' requests'),
  },
  criticalityRoutes: {
    name: 'CRITICALITY_ROUTES',
    apps: ['gateway'],
    default: 'none',
    meaning: 'which requests are critical, normal or sheddable, like critical:POST:/transactions/** sheddable:/reports/**, or none',
    parse: parseCriticalRoutes,
  },
  criticalityHeader: {
    name: 'CRITICALITY_HEADER',
    apps: ['gateway'],
    default: '',
    meaning: 'header in which trusted peers say critical, normal or sheddable, like X-Criticality; unset: none does',
    parse: (text: string): string =>
      /^[A-Za-z0-9-]{0,64}$/.test(text) ? text.toLowerCase() : expected('the name of a header: at most 64 letters, digits or -'),
  },
  criticalityReservePercent: {
    name: 'CRITICALITY_RESERVE_PERCENT',
    apps: ['gateway'],
    default: '20',
    meaning: 'percent of the places at the upstream that are kept for critical requests, and as many again from sheddable ones',
    parse: wholeNumber(1, 45, ' percent'),
  },
} as const satisfies Record<string, Variable<unknown>>;
