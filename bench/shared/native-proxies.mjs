/** Proxies that are not written in JavaScript, on one core, each with a limit for each merchant: in its own memory, or in Redis where that is said. */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/ports.mjs';
import { obtainProxies } from '../../scripts/services/fetch-proxies.mjs';
import { GO_PEERS, obtainGoPeer } from './go-peers.mjs';

/**
 * @typedef {{ port: number, upstreamPort: number, redisUrl: string, refuses: boolean, place: string }} Wanted
 *   refuses: all but the first requests of a merchant; otherwise none
 *
 * @typedef {object} NativeProxy
 * @property {string} what it is and how it limits
 * @property {string} file of its configuration
 * @property {(wanted: Wanted) => string} configuration
 * @property {(file: string, place: string) => string[]} args
 */

/** @satisfies {Record<string, NativeProxy>} */
export const NATIVE_PROXIES = {
  nginx: {
    what: 'nginx limit_req',
    file: 'nginx.conf',
    args: (file, place) => ['-p', place, '-c', file],
    configuration: ({ port, upstreamPort, refuses, place }) => {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(place, name)};`);
      const [rate, burst] = refuses ? ['1r/m', ''] : ['100000r/s', ' burst=100000 nodelay'];
      return `
daemon off; master_process off; worker_processes 1; pid ${join(place, 'pid')}; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; ${folders.join(' ')}
  limit_req_zone $http_x_merchant_id zone=merchants:10m rate=${rate}; limit_req_status 429;
  upstream api { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / { limit_req zone=merchants${burst}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://api; }
  }
}
`;
    },
  },
  haproxy: {
    what: 'HAProxy with a stick table',
    file: 'haproxy.cfg',
    args: (file) => ['-db', '-f', file],
    configuration: ({ port, upstreamPort, refuses }) => `
global
  nbthread 1
  maxconn 1024
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend api
  bind 127.0.0.1:${port}
  stick-table type string len 64 size 100k expire 60s store http_req_rate(10s)
  http-request track-sc0 req.hdr(x-merchant-id)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt ${refuses ? 1 : 1_000_000_000} }
  default_backend api
backend api
  server api 127.0.0.1:${upstreamPort}
`,
  },
  envoy: {
    what: 'Envoy with a local limit',
    file: 'envoy.yaml',
    args: (file) => ['-c', file, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'error'],
    // JSON is YAML. A blank value of a descriptor makes a bucket for each value that comes.
    configuration: ({ port, upstreamPort, refuses }) => {
      const bucket = refuses
        ? { max_tokens: 1, tokens_per_fill: 1, fill_interval: '60s' }
        : { max_tokens: 1_000_000, tokens_per_fill: 1_000_000, fill_interval: '1s' };
      const always = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
      const limit = {
        '@type': 'type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit',
        stat_prefix: 'limit',
        token_bucket: { max_tokens: 1_000_000_000, tokens_per_fill: 1_000_000_000, fill_interval: '1s' },
        filter_enabled: always,
        filter_enforced: always,
        max_dynamic_descriptors: 100_000,
        rate_limits: [{ actions: [{ request_headers: { header_name: 'x-merchant-id', descriptor_key: 'merchant' } }] }],
        descriptors: [{ entries: [{ key: 'merchant' }], token_bucket: bucket }],
      };
      const router = { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' };
      const manager = {
        '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
        stat_prefix: 'api',
        http_filters: [
          { name: 'envoy.filters.http.local_ratelimit', typed_config: limit },
          { name: 'envoy.filters.http.router', typed_config: router },
        ],
        route_config: { virtual_hosts: [{ name: 'api', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster: 'api' } }] }] },
      };
      const at = (/** @type {number} */ portValue) => ({ socket_address: { address: '127.0.0.1', port_value: portValue } });
      const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }];
      const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(upstreamPort) } }] }];
      return JSON.stringify({
        static_resources: {
          listeners: [{ address: at(port), filter_chains: [{ filters }] }],
          clusters: [{ name: 'api', type: 'STATIC', load_assignment: { cluster_name: 'api', endpoints } }],
        },
      });
    },
  },
  traefik: {
    what: 'Traefik with its limit in Redis',
    file: 'traefik.yaml',
    args: (file) => [`--configFile=${file}`],
    // Its dynamic configuration lies beside the static one.
    configuration: ({ port, upstreamPort, redisUrl, refuses, place }) => {
      const { host, password } = new URL(redisUrl);
      const rate = refuses ? { average: 1, period: '1m', burst: 1 } : { average: 1_000_000, period: '1s', burst: 1_000_000 };
      const redis = { endpoints: [host], ...(password && { password: decodeURIComponent(password) }) };
      const rateLimit = { ...rate, sourceCriterion: { requestHeaderName: 'X-Merchant-Id' }, redis };
      const api = join(place, 'api.yaml');
      writeFileSync(
        api,
        JSON.stringify({
          http: {
            routers: { api: { rule: 'PathPrefix(`/`)', middlewares: ['limit'], service: 'api' } },
            middlewares: { limit: { rateLimit } },
            services: { api: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${upstreamPort}` }] } } },
          },
        }),
      );
      return JSON.stringify({
        global: { checkNewVersion: false, sendAnonymousUsage: false },
        log: { level: 'ERROR' },
        entryPoints: { api: { address: `127.0.0.1:${port}` } },
        providers: { file: { filename: api } },
      });
    },
  },
};

/** @typedef {keyof typeof NATIVE_PROXIES} NativeProxyName */

/**
 * Starts those that this machine has or can fetch, on the measured core.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {NativeProxyName[]} names
 * @param {{ upstreamPort: number, redisUrl: string, refuses: boolean, say: (line: string) => void }} options
 * @returns {Promise<Partial<Record<NativeProxyName, import('./http-bed.mjs').Server>>>}
 */
export async function startNativeProxies(workshop, names, { upstreamPort, redisUrl, refuses, say }) {
  /** @type {Partial<Record<NativeProxyName, import('./http-bed.mjs').Server>>} */
  const servers = {};
  const obtained = await obtainProxies(names);
  for (const name of names) {
    let found = obtained.get(name) ?? { missing: 'nobody has looked for it' };
    if ('missing' in found && name in GO_PEERS) found = builtFromModules(/** @type {import('./go-peers.mjs').GoPeerName} */ (name), say);
    if ('missing' in found) {
      say(`not compared with ${name}: ${found.missing}`);
      continue;
    }
    const { args, configuration, file } = NATIVE_PROXIES[name];
    const [place, port] = [workshop.directory(), await freePort()];
    writeFileSync(join(place, file), configuration({ port, upstreamPort, redisUrl, refuses, place }));
    const job = workshop.start(found.program, { measured: true, args: args(join(place, file), place), env: found.env });
    await Promise.race([listening(port), job.ended]);
    servers[name] = { port, pid: job.pid };
  }
  return servers;
}

/**
 * @param {import('./go-peers.mjs').GoPeerName} name
 * @param {(line: string) => void} say
 * @returns {import('../../scripts/services/fetch-proxies.mjs').FoundProxy}
 */
function builtFromModules(name, say) {
  const built = obtainGoPeer(name, say);
  return 'missing' in built ? built : { program: built.program, env: {} };
}

/** @param {number} port */
async function listening(port) {
  for (const end = Date.now() + 10_000; ; await sleep(50)) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
        .on('error', () => resolve(false))
        .on('connect', () => socket.destroy());
    });
    if (open) return;
    if (Date.now() > end) throw new Error('the proxy does not listen');
  }
}
