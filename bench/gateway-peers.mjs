/** Requests a second through the gateway by a rule, against proxies with a limiter as they are usually built on Node, and against nginx, HAProxy, Envoy and Traefik. */
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { announced, load, perBusySecond, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { NATIVE_PROXIES, startNativeProxies } from './shared/native-proxies.mjs';
import { installPeers, peerScript } from './shared/peers.mjs';

export const title = 'gateway with a rule against Express and Nest with their limiters, nginx, HAProxy, Envoy and Traefik';

const PEERS = /** @type {const} */ ({
  express: 'Express, express-rate-limit, rate-limit-redis, http-proxy-middleware',
  nest: 'Nest, throttler, throttler-storage-redis, http-proxy-middleware',
});

/** Of a second of the core, where there is a goal. */
const GOALS = /** @type {const} */ ({ nginx: 0.38, envoy: 2, traefik: 2 });
const NATIVES = /** @type {const} */ (['nginx', 'haproxy', 'envoy', 'traefik']);

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  await installPeers(workshop, say);
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const gateway = await startGateway(workshop, upstream, redis.url);
  const merchants = gateway.ruled;
  const natives = await startNativeProxies(workshop, [...NATIVES], {
    upstreamPort: upstream.port,
    redisUrl: redis.url,
    refuses: false,
    say,
  });
  const servers = { tollgate: gateway.server, express: await startPeer('express'), nest: await startPeer('nest'), ...natives };

  /** @param {keyof typeof PEERS} name */
  function startPeer(name) {
    return announced(workshop.node(peerScript(`${name}.mjs`), { measured: true, args: [`http://127.0.0.1:${upstream.port}`, redis.url] }));
  }

  for (const server of Object.values(servers)) await warmUp(workshop, server, { merchants, seconds: warmupSeconds });
  const sides = Object.entries(servers).map(([name, server]) => [
    name,
    // These do not tell their clients of limits.
    () => load(workshop, server, { merchants, seconds, warmupSeconds, ...(!(name in natives) && { limited: true }), quick }),
  ]);
  const results = await interleaved(rounds, Object.fromEntries(sides), (side, round, result) =>
    say(`round ${round}: ${side.padEnd(8)} ${loadText(result)}`),
  );

  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map((result) => result.perSecond);
  // By what each needs of its core: the load generator and the upstream cannot fill that of nginx.
  const perCore = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  return [
    ...Object.entries(PEERS).map(([name, what]) =>
      figure(`gateway / ${name}`, ratios(perSecond('tollgate'), perSecond(name)), {
        goal: { atLeast: name === 'nest' ? 8 : 7 },
        details: { peer: what, tollgate: results['tollgate'], [name]: results[name] },
      }),
    ),
    ...Object.keys(natives).map((name) =>
      figure(
        `gateway / ${NATIVE_PROXIES[/** @type {keyof typeof natives} */ (name)].what}, a second of the core`,
        ratios(perCore('tollgate'), perCore(name)),
        {
          ...(name in GOALS && { goal: { atLeast: GOALS[/** @type {keyof typeof GOALS} */ (name)] } }),
          details: { tollgate: results['tollgate'], [name]: results[name] },
        },
      ),
    ),
    ...Object.keys(servers).map((name) => figure(`  ${name}`, perSecond(name), { unit: '/s' })),
  ];
}
