import { expected, type Variable } from './variable.js';

function upstreamUrl(text: string): URL | undefined {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  return url && bare && /^https?:$/.test(url.protocol)
    ? url
    : expected('an http or https URL of a server, without credentials, path or query, like http://127.0.0.1:9090');
}

/** Where the gateway's requests go. */
export const UPSTREAM_VARIABLES = {
  upstreamUrl: {
    name: 'UPSTREAM_URL',
    apps: ['gateway'],
    default: '',
    requiredUnless: 'routesFile',
    meaning: 'the server behind the gateway, http or https, without a path',
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
