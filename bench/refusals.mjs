/** What a refusal costs: refusals a second from the gateway's memory, against nginx, HAProxy, Envoy and a node:http that answers a constant. */
import { createRedis } from '#limiter-redis';
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { announced, load, perBusySecond, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { NATIVE_PROXIES, startNativeProxies } from './shared/native-proxies.mjs';

export const title = 'refusing a flood, against nginx, HAProxy, Envoy and a constant of node:http';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const gateway = await startGateway(workshop, upstream, redis.url);
  const merchants = gateway.refused;
  const constant = await announced(workshop.node(join(ROOT, 'bench', 'load', 'constant.mjs'), { measured: true }));
  const natives = await startNativeProxies(workshop, ['nginx', 'haproxy', 'envoy'], {
    upstreamPort: upstream.port,
    redisUrl: redis.url,
    refuses: true,
    say,
  });
  const servers = { tollgate: gateway.server, constant, ...natives };

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
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  return [
    ...Object.keys(natives).map((name) =>
      figure(
        `refusals: gateway / ${NATIVE_PROXIES[/** @type {keyof typeof natives} */ (name)].what}`,
        ratios(perSecond('tollgate'), perSecond(name)),
        {
          ...(name === 'nginx' && { goal: { atLeast: 0.45 } }),
          details: results,
        },
      ),
    ),
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
