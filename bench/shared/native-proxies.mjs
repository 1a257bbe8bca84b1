/** Proxies that are not written in JavaScript, each with a limit for each merchant in the memory of one thread. */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/ports.mjs';
import { obtainProxies } from '../../scripts/services/fetch-proxies.mjs';

/**
 * @typedef {{ port: number, upstreamPort: number, refuses: boolean, place: string }} Wanted
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
};

/** @typedef {keyof typeof NATIVE_PROXIES} NativeProxyName */

/**
 * Starts those that this machine has or can fetch, on the measured core.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {NativeProxyName[]} names
 * @param {{ upstreamPort: number, refuses: boolean, say: (line: string) => void }} options
 * @returns {Promise<Partial<Record<NativeProxyName, import('./http-bed.mjs').Server>>>}
 */
export async function startNativeProxies(workshop, names, { upstreamPort, refuses, say }) {
  /** @type {Partial<Record<NativeProxyName, import('./http-bed.mjs').Server>>} */
  const servers = {};
  const obtained = await obtainProxies(names);
  for (const name of names) {
    const found = obtained.get(name) ?? { missing: 'nobody has looked for it' };
    if ('missing' in found) {
      say(`not compared with ${name}: ${found.missing}`);
      continue;
    }
    const { args, configuration, file } = NATIVE_PROXIES[name];
    const [place, port] = [workshop.directory(), await freePort()];
    writeFileSync(join(place, file), configuration({ port, upstreamPort, refuses, place }));
    const job = workshop.start(found.program, { measured: true, args: args(join(place, file), place), env: found.env });
    await Promise.race([listening(port), job.ended]);
    servers[name] = { port, pid: job.pid };
  }
  return servers;
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
