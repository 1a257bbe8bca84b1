/** What it costs to know who asks: requests a second by API key and by JWT, against X-Merchant-Id. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { API_KEY_TEXT } from '#platform';
import { createDataSource } from '#rules-db';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { load, openGateway, perBusySecond, startGateway, startUpstream } from './shared/http-bed.mjs';

export const title = 'merchants by API key and by JWT against by header';

const ISSUER = 'https://issuer.example.com';
const AUDIENCE = 'tollgate';
const KEY_ID = 'the key of the benchmark';
const ALGORITHM = 'ES256';
/** V8 compiles in steps; behind so many requests nothing changes any more. */
const REQUESTS_TO_COMPILE = 20_000;
const MOST_WARM_UPS = 10;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled, databaseUrl } = await startGateway(workshop, upstream, redis.url);
  const issuer = await startIssuer();
  try {
    const open = (/** @type {Record<string, string>} */ env) => openGateway(workshop, { upstream, redisUrl: redis.url, databaseUrl, env });
    const keys = await createApiKeys(databaseUrl, ruled);
    const tokens = await Promise.all(ruled.map(issuer.tokenOf));
    /** @type {(side: { server: import('./shared/http-bed.mjs').Server, callers: string[] }, seconds: number, warmupSeconds: number, more?: { limited?: boolean, quick?: boolean }) => Promise<import('./shared/http-bed.mjs').LoadResult>} */
    const ask = ({ server: asked, callers }, forSeconds, warmup, more = { quick: true }) =>
      load(workshop, asked, { merchants: ruled, callers, seconds: forSeconds, warmupSeconds: warmup, ...more });
    const sides = {
      header: { server, callers: ruled.map((merchant) => `x-merchant-id: ${merchant}`) },
      key: { server: await open({ IDENTITY: 'api-key' }), callers: keys.map(bearer) },
      jwt: {
        server: await open({ IDENTITY: 'jwt', JWT_JWKS_URL: issuer.url, JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE }),
        callers: tokens.map(bearer),
      },
    };
    for (const side of Object.values(sides)) await compile((seconds) => ask(side, seconds, 0.1), quick ? 1 : MOST_WARM_UPS, warmupSeconds);
    const measured = Object.entries(sides).map(([name, side]) => [name, () => ask(side, seconds, warmupSeconds, { limited: true, quick })]);
    const results = await interleaved(rounds, Object.fromEntries(measured), (side, round, result) =>
      say(`round ${round}: ${side.padEnd(6)} ${loadText(result)}`),
    );
    return figuresOf(results);
  } finally {
    issuer.close();
  }
}

/**
 * Asks until the code is compiled. Each side is a process of its own, and on a slow machine two seconds are too few requests for it: the one that was started last would be measured
 * half compiled.
 * @param {(seconds: number) => Promise<import('./shared/http-bed.mjs').LoadResult>} ask
 * @param {number} most times
 * @param {number} seconds each time
 */
async function compile(ask, most, seconds) {
  for (let asked = 0, times = 0; asked < REQUESTS_TO_COMPILE && times < most; times++) asked += seconds * (await ask(seconds)).perSecond;
}

/** @param {Record<string, import('./shared/http-bed.mjs').LoadResult[]>} results */
function figuresOf(results) {
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  return [
    figure('gateway: by API key / by header', ratios(perSecond('key'), perSecond('header')), { goal: { atLeast: 0.93 }, details: results }),
    figure('gateway: by JWT / by header', ratios(perSecond('jwt'), perSecond('header')), { goal: { atLeast: 0.85 } }),
    ...Object.keys(results).map((side) => figure(`  by ${side}, a second of its core`, perSecond(side), { unit: '/s' })),
  ];
}

/** @param {string} token */
const bearer = (token) => `authorization: Bearer ${token}`;

/** One API key for each merchant, as the Rules API stores them. @param {string} databaseUrl @param {readonly string[]} merchants @returns {Promise<string[]>} */
async function createApiKeys(databaseUrl, merchants) {
  const dataSource = await createDataSource(databaseUrl).initialize();
  const keys = merchants.map((merchant) => ({ merchant, ...API_KEY_TEXT.make() }));
  await dataSource.query(
    `INSERT INTO merchant (id, name, time_zone, version, rules_version) SELECT id, id, 'Etc/UTC', 1, 1 FROM unnest($1::text[]) AS id`,
    [merchants],
  );
  await dataSource.query(
    `INSERT INTO merchant_api_key (merchant_id, name, prefix, hash) SELECT merchant_id, 'the key', prefix, hash FROM unnest($1::text[], $2::text[], $3::bytea[]) AS key (merchant_id, prefix, hash)`,
    [merchants, keys.map(({ prefix }) => prefix), keys.map(({ hash }) => hash)],
  );
  await dataSource.destroy();
  return keys.map(({ token }) => token);
}

/** An issuer of tokens that publishes its key. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM);
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: KEY_ID, alg: ALGORITHM, use: 'sig' }] });
  const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(keys));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/keys`,
    /** A token as merchants have it from an issuer: who, for whom, until when, and what it may. @param {string} merchant */
    tokenOf: (merchant) =>
      new SignJWT({ merchant, scope: 'transactions:read transactions:write' })
        .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(`service of ${merchant}`)
        .setIssuedAt()
        .setExpirationTime('2h')
        .sign(privateKey),
    close: () => server.close(),
  };
}
