import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { API_KEY_TEXT } from '#platform';
import { createDataSource, MerchantApiKeyRepository } from '#rules-db';
import { makeAuthority, makeCertificate, type MadeCertificate } from '../../support/certificates.js';
import { BY } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { AUDIENCE, TestIssuer } from '../../support/oidc-issuer.js';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from './house.js';

/** Who is asking, at a gateway that knows merchants by API keys, by tokens and by X-Merchant-Id, in this order. */

let house: House;
let issuer: TestIssuer;
let gateway: RunningApp;
let key: string;

const perScope = ruleSpec({
  layer: 'user',
  key: ['merchant', 'user', 'jwt.org.team'],
  match: { methods: [], paths: [], all: [{ field: 'jwt.scope', equals: 'limited' }] },
  limits: [burst({ capacity: 2, refillTokens: 1, refillIntervalMs: 86_400_000 })],
});

const perUser = ruleSpec({
  layer: 'user',
  key: ['merchant', 'user'],
  match: { methods: [], paths: [] },
  limits: [burst({ capacity: 1, refillTokens: 1, refillIntervalMs: 86_400_000 })],
});

const atOnce = ruleSpec({
  name: 'open at once',
  layer: 'network',
  match: { methods: ['GET'], paths: ['/chat'] },
  limits: [{ name: 'at once', algorithm: 'concurrency', limit: 1, slotTimeoutMs: 600_000 }],
});

const twice = ruleSpec({
  match: { methods: [], paths: ['/pay'] },
  limits: [burst({ capacity: 2, refillTokens: 1, refillIntervalMs: 86_400_000 })],
});

beforeAll(async () => {
  [house, issuer] = await Promise.all([House.open(), TestIssuer.start()]);
  await house.store({ acme: [perScope] as readonly RuleSpec[], keyed: [], named: [perUser], doors: [atOnce, twice] });
  const dataSource = await createDataSource(house.database.url).initialize();
  const made = API_KEY_TEXT.make();
  key = made.token;
  await new MerchantApiKeyRepository(dataSource).create('keyed', { name: 'shop', user: 'u1', labels: {}, expiresAt: null }, made, BY);
  await dataSource.destroy();
  gateway = await house.gateway({
    IDENTITY: 'api-key,jwt,header',
    GATEWAY_API_KEY_HEADER: 'X-Api-Key',
    JWT_JWKS_URL: `${issuer.url}/keys`,
    JWT_ISSUER: issuer.url,
    JWT_AUDIENCE: AUDIENCE,
    JWT_MERCHANT_CLAIM: 'org.id',
    STORE_TIMEOUT_MS: '5000',
  });
});

afterAll(async () => {
  await house.close();
  await issuer.close();
});

const ORG = { org: { id: 'acme', team: 'web' } };
const sign = (claims: Record<string, unknown> = {}) => issuer.sign({ ...ORG, ...claims });
const seconds = () => Math.floor(Date.now() / 1000);
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [string, string, string];

/** Sends these lines of headers as they are, and tells the status, the code of a problem and what reached the upstream. */
async function send(...lines: string[]) {
  house.received.length = 0;
  const { hostname, port } = new URL(gateway.url);
  const text = await new Promise<string>((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname);
    socket.setEncoding('latin1').on('data', (piece) => (answer += String(piece)));
    socket.on('error', reject).on('close', () => resolve(answer));
    socket.write(['GET /x HTTP/1.1', 'Host: a', 'Connection: close', ...lines, '', ''].join('\r\n'), 'latin1');
  });
  const status = Number(text.split(' ')[1]);
  return {
    status,
    code: /"code":"([^"]+)"/.exec(text)?.[1],
    challenge: /^www-authenticate: (.*)$/im.exec(text)?.[1]?.trim(),
    upstream: house.received[0]?.headers,
  };
}

test('a token says whose request it is, and the upstream is told by the gateway alone', async () => {
  const { status, upstream } = await send(
    `Authorization: Bearer ${await sign()}`,
    'X-Merchant-Id: other',
    'X-User-Id: root',
    'X_User_Id: root',
    'X_Merchant_Id: root',
  );
  expect(status).toBe(200);
  expect(upstream).toMatchObject({
    'x-merchant-id': 'acme',
    'x-user-id': 'alice@example.com',
    'x-request-id': expect.any(String) as unknown,
  });
  for (const name of ['authorization', 'x_user_id', 'x_merchant_id']) expect(upstream).not.toHaveProperty(name);
});

test('an API key comes first, in either header, and is not forwarded', async () => {
  const token = await sign();
  for (const line of [`Authorization: Bearer ${key}`, `X-Api-Key: ${key}`]) {
    const { status, upstream } = await send(line, 'X-Merchant-Id: other', 'X_Api_Key: x');
    expect([status, upstream?.['x-merchant-id'], upstream?.['x-user-id']]).toEqual([200, 'keyed', 'u1']);
    for (const name of ['authorization', 'x-api-key', 'x_api_key']) expect(upstream).not.toHaveProperty(name);
  }
  const { upstream } = await send(`X-Api-Key: ${key}`, `Authorization: Bearer ${token}`);
  expect([upstream?.['x-merchant-id'], upstream?.authorization]).toEqual(['keyed', undefined]);
});

test('without a credential X-Merchant-Id counts, and another scheme is the upstream’s', async () => {
  const { upstream } = await send('X-Merchant-Id: acme', 'Authorization: Basic YTpi');
  expect(upstream).toMatchObject({ 'x-merchant-id': 'acme', authorization: 'Basic YTpi' });
});

test('the user that a trusted peer names is counted by and told to the upstream; two are refused', async () => {
  const headers = (...users: string[]) => ['X-Merchant-Id: named', ...users.map((user) => `X-User-Id: ${user}`), 'X_User_Id: root'];
  const ann = await send(...headers('ann'));
  expect([ann.status, ann.upstream?.['x-user-id'], ann.upstream?.['x_user_id']]).toEqual([200, 'ann', undefined]);
  expect([(await send(...headers('ann'))).status, (await send(...headers('bob'))).status]).toEqual([429, 200]);
  const two = await send(...headers('carl', 'carl'));
  expect([two.status, two.code, two.upstream]).toEqual([400, 'identity.user_repeated', undefined]);
});

test('a rule sees the claims of a token, and counts by them', async () => {
  const statusOf = async (claims: object) => (await send(`Authorization: Bearer ${await sign({ scope: 'limited', ...claims })}`)).status;
  expect([await statusOf({}), await statusOf({}), await statusOf({})]).toEqual([200, 200, 429]);
  expect(await statusOf({ org: { id: 'acme', team: 'ops' } })).toBe(200);
  expect(await statusOf({ sub: 'bob' })).toBe(200);
  expect(await statusOf({ scope: ['other'] })).toBe(200);
});

test('a new key of the issuer is known at once, and while the issuer is away known keys go on', async () => {
  await issuer.addKey('RS256');
  const token = await sign();
  expect((await send(`Authorization: Bearer ${token}`)).status).toBe(200);
  issuer.answer = (_, response) => response.destroy();
  expect((await send(`Authorization: Bearer ${await sign({ sub: 'never seen' })}`)).status).toBe(200);
  expect(JSON.stringify(gateway.logs)).not.toContain(parts(token)[2]);
  issuer.answer = undefined;
  const ready = (await (await fetch(`${gateway.managementUrl}/readyz`)).json()) as { ready: boolean; checks: { name: string }[] };
  expect(ready.checks.find(({ name }) => name === 'token_keys')).toMatchObject({ required: false });
  expect(await house.metric(gateway, /^tollgate_jwks_fetches_total\{.*outcome="fetched"/)).toBeGreaterThan(0);
});

/** With what else the request says, which never makes up for a credential that is wrong. */
const BESIDE = 'X-Merchant-Id: acme';

test.each<[string, () => Promise<string[]> | string[], number, string]>([
  ['nothing', () => ['X-Other: x'], 401, 'identity.missing'],
  ['an expired token', async () => [`Authorization: Bearer ${await sign({ exp: seconds() - 31 })}`, BESIDE], 401, 'identity.token_expired'],
  [
    'a token that is not valid yet',
    async () => [`Authorization: Bearer ${await sign({ nbf: seconds() + 90 })}`, BESIDE],
    401,
    'identity.token_not_yet_valid',
  ],
  [
    'a token for another audience',
    async () => [`Authorization: Bearer ${await sign({ aud: 'other' })}`, BESIDE],
    401,
    'identity.token_audience',
  ],
  [
    'a token of another issuer',
    async () => [`Authorization: Bearer ${await sign({ iss: 'https://evil.example' })}`, BESIDE],
    401,
    'identity.token_issuer',
  ],
  ['a token without an end', async () => [`Authorization: Bearer ${await sign({ exp: undefined })}`, BESIDE], 401, 'identity.token_expiry'],
  [
    'a token whose end is a text',
    async () => [`Authorization: Bearer ${await sign({ exp: '2100-01-01' })}`, BESIDE],
    401,
    'identity.token_expiry',
  ],
  ['a token that names no merchant', async () => [`Authorization: Bearer ${await issuer.sign()}`, BESIDE], 401, 'identity.token_merchant'],
  [
    'a token whose user is two lines',
    async () => [`Authorization: Bearer ${await sign({ sub: 'a\r\nb: c' })}`, BESIDE],
    401,
    'identity.token_user',
  ],
  [
    'a token with another content under its signature',
    async () => {
      const [header, , signature] = parts(await sign());
      return [
        `Authorization: Bearer ${header}.${b64({ ...ORG, iss: issuer.url, aud: AUDIENCE, exp: seconds() + 60 })}.${signature}`,
        BESIDE,
      ];
    },
    401,
    'identity.token_invalid',
  ],
  [
    'alg none',
    async () => [`Authorization: Bearer ${b64({ alg: 'none' })}.${parts(await sign())[1]}.`, BESIDE],
    401,
    'identity.token_invalid',
  ],
  [
    'HS256 with the public key as the secret',
    async () => {
      const content = `${b64({ alg: 'HS256', kid: issuer.newestKey.kid })}.${parts(await sign())[1]}`;
      const signature = createHmac('sha256', JSON.stringify(issuer.newestKey)).update(content).digest('base64url');
      return [`Authorization: Bearer ${content}.${signature}`, BESIDE];
    },
    401,
    'identity.token_invalid',
  ],
  [
    'an unknown key',
    async () => {
      const [, claims, signature] = parts(await sign());
      return [`Authorization: Bearer ${b64({ alg: 'RS256', kid: 'unknown' })}.${claims}.${signature}`, BESIDE];
    },
    401,
    'identity.token_invalid',
  ],
  ['an opaque token', () => ['Authorization: Bearer opaque', BESIDE], 401, 'identity.token_invalid'],
  ['a huge token', () => [`Authorization: Bearer eyJ${'a'.repeat(9_000)}.e30.x`, BESIDE], 401, 'identity.token_invalid'],
  ['bytes beyond ASCII', async () => [`Authorization: Bearer ${await sign()}\xe4`, BESIDE], 401, 'identity.token_invalid'],
  ['a list of tokens', async () => [`Authorization: Bearer ${await sign()}, Bearer x`, BESIDE], 401, 'identity.token_invalid'],
  ['a line that goes on in the next', async () => ['Authorization: Bearer', ` ${await sign()}`, BESIDE], 400, 'request.malformed'],
  [
    'two headers Authorization',
    async () => [`Authorization: Bearer ${await sign()}`, 'authorization: Basic x', BESIDE],
    400,
    'identity.authorization_repeated',
  ],
  ['a wrong API key', () => [`Authorization: Bearer ${key.slice(0, -2)}xx`, BESIDE], 401, 'identity.api_key_invalid'],
  [
    'a wrong API key beside a good token',
    async () => ['X-Api-Key: wrong', `Authorization: Bearer ${await sign()}`],
    401,
    'identity.api_key_invalid',
  ],
  ['two API keys', () => [`X-Api-Key: ${key}`, `x-api-key: ${key}`, BESIDE], 400, 'identity.api_key_repeated'],
  ['a key in a name that only CGI takes for the header', () => [`X_Api_Key: ${key}`], 401, 'identity.missing'],
  ['a merchant in such a name', () => ['X_Merchant_Id: acme'], 401, 'identity.missing'],
])('%s is refused and reaches nobody', async (_what, lines, status, code) => {
  const refused = await send(...(await lines()));
  expect([refused.status, refused.code, refused.upstream]).toEqual([status, code, undefined]);
  if (status === 401) expect(refused.challenge).toMatch(/^Bearer realm="tollgate"/);
});

describe('a gateway that speaks TLS and asks clients for certificates', () => {
  const authority = makeAuthority();
  const server = makeCertificate({ dnsNames: ['localhost'] });
  const client = (name: string, by = authority, notAfter?: Date) =>
    makeCertificate({ uris: [`spiffe://example.org/${name}`], by, ...(notAfter !== undefined && { notAfter }) });
  let folder: string;
  let tls: RunningApp;
  let upstream: Server;

  const write = (shows: MadeCertificate) => {
    writeFileSync(join(folder, 'cert.pem'), shows.cert);
    writeFileSync(join(folder, 'key.pem'), shows.key);
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'));
    write(server);
    writeFileSync(join(folder, 'ca.pem'), authority.cert);
    upstream = createServer({ cert: server.cert, key: server.key }).on('upgrade', (request, socket) => {
      const accept = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64');
      const about = `X-Merchant: ${request.headers['x-merchant-id'] as string}`;
      socket.write(`HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${about}\r\n\r\n`);
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const address = `https://localhost:${(upstream.address() as AddressInfo).port}`;
    const routes = {
      version: 1,
      upstreams: [{ name: 'chat', addresses: [address] }],
      routes: [{ name: 'chat', upstream: 'chat', paths: ['/chat'] }],
    };
    writeFileSync(join(folder, 'routes.yaml'), JSON.stringify(routes));
    writeFileSync(join(folder, 'upstream.pem'), server.cert);
    tls = await house.gateway({
      GATEWAY_ROUTES_FILE: join(folder, 'routes.yaml'),
      NODE_EXTRA_CA_CERTS: join(folder, 'upstream.pem'),
      IDEMPOTENCY_WINDOW_MS: '60000',
      IDENTITY: 'api-key,certificate,header',
      GATEWAY_TLS_CERT: join(folder, 'cert.pem'),
      GATEWAY_TLS_KEY: join(folder, 'key.pem'),
      GATEWAY_TLS_CLIENT_CA: join(folder, 'ca.pem'),
      CLIENT_CERT_PREFIX: 'spiffe://example.org/',
      STORE_TIMEOUT_MS: '5000',
    });
  });

  afterAll(() => {
    upstream.close();
    rmSync(folder, { recursive: true });
  });

  async function session(shown: MadeCertificate | undefined, ca = server): Promise<ClientHttp2Session> {
    const opened = connectHttp2(`https://localhost:${new URL(tls.url).port}`, {
      ca: ca.cert,
      ...(shown !== undefined && { cert: shown.cert, key: shown.key }),
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }] as never),
    });
    await once(opened, 'connect');
    return opened;
  }

  async function ask(shown: MadeCertificate | undefined, headers: Record<string, string> = {}) {
    house.received.length = 0;
    const opened = await session(shown);
    const stream = opened.request({ ':path': '/x', ...headers }, { endStream: true });
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
    let text = '';
    for await (const piece of stream) text += String(piece);
    opened.destroy();
    return { status: answer[':status'], code: /"code":"([^"]+)"/.exec(text)?.[1], upstream: house.received[0]?.headers };
  }

  test('knows merchants by them, and tells the upstream', async () => {
    const { status, upstream } = await ask(client('acme'), { 'x-merchant-id': 'other' });
    expect(status).toBe(200);
    expect(upstream).toMatchObject({ 'x-merchant-id': 'acme', 'x-forwarded-proto': 'https' });
  });

  test('goes by an API key first, and by X-Merchant-Id only without a certificate', async () => {
    const keyed = await ask(client('acme'), { authorization: `Bearer ${key}` });
    expect(keyed.upstream?.['x-merchant-id']).toBe('keyed');
    const named = await ask(undefined, { 'x-merchant-id': 'acme' });
    expect(named.upstream?.['x-merchant-id']).toBe('acme');
  });

  test.each([
    ['of another authority', () => client('acme', makeAuthority()), 401, 'identity.certificate_untrusted'],
    ['that has expired', () => client('acme', authority, new Date(Date.now() - 60_000)), 401, 'identity.certificate_expired'],
    ['that names no merchant', () => makeCertificate({ commonNames: ['acme'], by: authority }), 401, 'identity.certificate_merchant'],
    ['of a merchant that does not exist', () => client('nobody'), 403, 'merchant.unknown'],
  ])('refuses one %s, whatever the request says besides', async (_case, make, status, code) => {
    const refused = await ask(make(), { 'x-merchant-id': 'acme' });
    expect(refused).toEqual({ status, code, upstream: undefined });
  });

  test('takes a retry by its Idempotency-Key for one over HTTP/2 as well', async () => {
    const pay = async (more: Record<string, string>) => (await ask(client('doors'), { ':path': '/pay', ...more })).status;
    const statuses = [];
    for (const retry of ['a', 'a', 'b', 'a', 'c']) statuses.push(await pay({ 'idempotency-key': retry }));
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
  });

  test('charges no OPTIONS that no rule names, and lets the preflight of a browser pass, which names nobody', async () => {
    for (let i = 0; i < 3; i++)
      expect(await ask(client('doors'), { ':path': '/pay', ':method': 'OPTIONS' })).toMatchObject({ status: 200 });
    const preflight = { ':path': '/pay', ':method': 'OPTIONS', origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const { status, upstream: seen } = await ask(undefined, { ...preflight, 'x-http-method-override': 'POST' });
    expect([status, seen?.origin, seen?.['x-merchant-id'], seen?.['x-http-method-override']]).toEqual([
      200,
      'https://shop.example',
      undefined,
      undefined,
    ]);
    expect((await ask(undefined, { ':path': '/pay', ':method': 'OPTIONS' })).code).toBe('identity.missing');
    expect(await house.metric(tls, /^tollgate_preflights_total\{.*merchant="anonymous"/)).toBe(1);
  });

  test('passes a WebSocket on to an upstream that speaks TLS, and it holds its slot until it ends', async () => {
    const shown = client('doors');
    const open = async () => {
      const socket = connectTls({
        host: '127.0.0.1',
        port: Number(new URL(tls.url).port),
        servername: 'localhost',
        ca: server.cert,
        cert: shown.cert,
        key: shown.key,
      });
      let text = '';
      socket.setEncoding('latin1').on('data', (piece) => (text += String(piece)));
      socket.on('error', () => {});
      const handshake = [
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version: 13',
      ];
      socket.write(`GET /chat HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`);
      await until(() => text.includes('\r\n\r\n'));
      return { socket, text: () => text };
    };
    const first = await open();
    expect(first.text()).toMatch(/^HTTP\/1\.1 101 [^]*\r\nX-Merchant: doors\r\n/);
    first.socket.write('hello');
    await until(() => first.text().endsWith('\r\n\r\nhello'));
    const second = await open();
    expect(second.text()).toMatch(/^HTTP\/1\.1 429 /);
    first.socket.end();
    await until('the slot is free', async () => {
      const next = await open();
      next.socket.destroy();
      return next.text().startsWith('HTTP/1.1 101');
    });
  });

  test('shows another certificate once its files have changed, without a restart', async () => {
    const next = makeCertificate({ dnsNames: ['localhost'], notAfter: new Date(Date.now() + 1_000_000_000) });
    write(next);
    await until('the new certificate is shown', async () => (await session(undefined, next)).destroy());
    const metrics = await (await fetch(`${tls.managementUrl}/metrics`)).text();
    const expiry = Number(/tollgate_tls_certificate_expiry_timestamp_seconds\{[^}]*\} (\S+)/.exec(metrics)?.[1]);
    expect(expiry).toBe(Date.parse(next.x509.validTo) / 1000);
  });
});
