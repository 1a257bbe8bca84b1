/** What TLS and HTTP/2 cost: requests a second of a core, against plain HTTP/1.1. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned } from '../scripts/self-signed.mjs';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { load, openGateway, perBusySecond, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'TLS and HTTP/2 against plain HTTP/1.1';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled: merchants, databaseUrl } = await startGateway(workshop, upstream, redis.url);
  const { ca, env } = certificateIn(workshop.directory());
  const secure = await openGateway(workshop, { upstream, redisUrl: redis.url, databaseUrl, env });
  const ways = {
    plain: { server, options: {} },
    tls: { server: secure, options: { ca } },
    http2: { server: secure, options: { ca, http2: true } },
  };
  for (const way of Object.values(ways)) await warmUp(workshop, way.server, { merchants, seconds: warmupSeconds, ...way.options });
  const sides = Object.entries(ways).map(([name, way]) => [
    name,
    () => load(workshop, way.server, { merchants, seconds, warmupSeconds, limited: true, quick, ...way.options }),
  ]);
  const results = await interleaved(rounds, Object.fromEntries(sides), (side, round, result) =>
    say(`round ${round}: ${side.padEnd(5)} ${loadText(result)}`),
  );
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  return [
    figure('gateway: HTTP/1.1 by TLS / plain', ratios(perSecond('tls'), perSecond('plain')), { details: results }),
    figure('gateway: HTTP/2 by TLS / plain HTTP/1.1', ratios(perSecond('http2'), perSecond('plain'))),
    ...Object.keys(ways).map((way) => figure(`  ${way}, a second of its core`, perSecond(way), { unit: '/s' })),
  ];
}

/** A certificate of this machine, as files for the gateway. @param {string} directory */
function certificateIn(directory) {
  const { cert, key } = selfSigned();
  const files = { GATEWAY_TLS_CERT: join(directory, 'cert.pem'), GATEWAY_TLS_KEY: join(directory, 'key.pem') };
  writeFileSync(files.GATEWAY_TLS_CERT, cert);
  writeFileSync(files.GATEWAY_TLS_KEY, key, { mode: 0o600 });
  return { ca: cert, env: files };
}
