import { expected, oneOf, type Variable } from './variable.js';

function upstreamUrl(text: string): URL | undefined {
  if (text === '') return undefined;
  // Of schemes that it does not know, URL looks at little.
  const known = text.replace(/^h2c:/, 'http:');
  const url = URL.canParse(known) ? new URL(known) : undefined;
  const bare = url && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  return url && bare && /^https?:$/.test(url.protocol)
    ? new URL(known === text ? text : url.href.replace(/^http:/, 'h2c:'))
    : expected('an http, https or h2c URL of a server, without credentials, path or query, like http://127.0.0.1:9090');
}

/** Where the gateway's requests go. */
export const UPSTREAM_VARIABLES = {
  fastLane: {
    name: 'GATEWAY_FAST_LANE',
    apps: ['gateway'],
    default: 'on',
    meaning: 'off: requests of the usual kind, too, are read and sent on by node:http and undici, for more of the processor',
    parse: (text: string): boolean => oneOf(['off', 'on'])(text) === 'on',
  },
  upstreamUrl: {
    name: 'UPSTREAM_URL',
    apps: ['gateway'],
    default: '',
    requiredUnless: 'routesFile',
    meaning: 'the server behind the gateway, http, https or h2c (HTTP/2 without TLS), without a path',
    parse: upstreamUrl,
  },
  routesFile: {
    name: 'GATEWAY_ROUTES_FILE',
    apps: ['gateway'],
    default: '',
    meaning:
      'YAML file with routes to several upstreams; what no route takes goes to UPSTREAM_URL, or is answered with 404 if that is not set',
    parse: (text: string): string | undefined => (text.includes('\0') ? expected('the path of a file') : text === '' ? undefined : text),
  },
} as const satisfies Record<string, Variable<unknown>>;
