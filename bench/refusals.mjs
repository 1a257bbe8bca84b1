/** What a refusal costs: refusals a second from the gateway's memory, against nginx and a node:http that answers a constant. */
import { createRedis } from '#limiter-redis';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../scripts/paths.mjs';
import { freePort } from '../scripts/ports.mjs';
import { findProgram } from '../scripts/processes.mjs';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { announced, load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'refusing a flood, against nginx limit_req and a constant of node:http';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const gateway = await startGateway(workshop, upstream, redis.url);
  const merchants = gateway.refused;
  const constant = await announced(workshop.node(join(ROOT, 'bench', 'load', 'constant.mjs'), { measured: true }));
  const nginx = await startNginx(workshop, upstream.port);
  if (nginx === undefined) say('nginx is not installed: nothing to compare with but node:http');
  const servers = { tollgate: gateway.server, constant, ...(nginx && { nginx }) };

  for (const server of Object.values(servers)) await warmUp(workshop, server, { merchants, seconds: warmupSeconds });
  const client = createRedis(redis.url, 'queue-worker');
  const before = await scriptCalls(client);
  /** @type {number[]} */
  const callsARefusal = [];
  const sides = Object.entries(servers).map(([name, server]) => [
    name,
    async () => {
      const callsBefore = await scriptCalls(client);
      const result = await load(workshop, server, { merchants, seconds, warmupSeconds, status: '429', quick });
      // The seconds of warming up were refused as fast.
      if (name === 'tollgate')
        callsARefusal.push(((await scriptCalls(client)) - callsBefore) / (result.perSecond * (seconds + warmupSeconds)));
      return result;
    },
  ]);
  const results = await interleaved(rounds, Object.fromEntries(sides), (side, round, result) =>
    say(`round ${round}: ${side.padEnd(8)} ${loadText(result)}`),
  );
  say(`script calls of Redis in all: ${(await scriptCalls(client)) - before}`);
  client.disconnect();

  // By what each needs of its core: the load generator cannot fill that of nginx.
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map((result) => result.perSecond / (result.serverBusy ?? 1));
  return [
    ...(nginx
      ? [
          figure('refusals: gateway / nginx limit_req', ratios(perSecond('tollgate'), perSecond('nginx')), {
            goal: { atLeast: 0.24 },
            details: results,
          }),
        ]
      : []),
    figure('refusals: gateway / a constant of node:http', ratios(perSecond('tollgate'), perSecond('constant')), { details: results }),
    figure('Redis calls a refusal', callsARefusal, { goal: { atMost: 0.01 } }),
    ...Object.keys(servers).map((name) => figure(`  ${name}`, perSecond(name), { unit: '/s' })),
  ];
}

/** @param {import('#limiter-redis').RedisConnection} redis */
async function scriptCalls(redis) {
  const text = await redis.info('commandstats');
  return ['evalsha', 'eval'].reduce((sum, name) => sum + Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0);
}

/**
 * nginx with a limit for each merchant, in one process as the others.
 * @param {import('./shared/workshop.mjs').Workshop} workshop
 * @param {number} upstreamPort
 * @returns {Promise<import('./shared/http-bed.mjs').Server | undefined>} undefined where it is not installed
 */
async function startNginx(workshop, upstreamPort) {
  const program = findProgram(['nginx']) ?? ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((path) => existsSync(path));
  if (program === undefined) return undefined;
  const place = workshop.directory();
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(place, name)};`).join(' ');
  writeFileSync(
    join(place, 'nginx.conf'),
    `
daemon off; master_process off; worker_processes 1; pid ${join(place, 'pid')}; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; ${temporary}
  limit_req_zone $http_x_merchant_id zone=merchants:10m rate=1r/m; limit_req_status 429;
  server { listen 127.0.0.1:${port}; location / { limit_req zone=merchants; proxy_pass http://127.0.0.1:${upstreamPort}; } }
}
`,
  );
  const job = workshop.start(program, { measured: true, args: ['-p', place, '-c', join(place, 'nginx.conf')] });
  await Promise.race([listening(port), job.ended]);
  return { port, pid: job.pid };
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
    if (Date.now() > end) throw new Error('nginx does not listen');
  }
}
