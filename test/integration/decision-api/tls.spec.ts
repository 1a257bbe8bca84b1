/** TLS with callers of the decision API, on real sockets with certificates that were made for it: both doors, who is known by a certificate, and what handshakes may do. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { startLimits } from '#limiter';
import { burst, ruleOf } from '#limiter/testing';
import { CertifiedCallers } from '../../../apps/decision-api/src/callers/certified-callers.js';
import { jsonAnswer } from '../../../apps/decision-api/src/http/answer.js';
import { CallCounts } from '../../../apps/decision-api/src/http/call-counts.js';
import { DecisionServer } from '../../../apps/decision-api/src/http/decision-server.js';
import { TlsDoor, type TlsDoorOptions } from '../../../apps/decision-api/src/tls/tls-door.js';
import { ROOT } from '../../../scripts/paths.mjs';
import { makeAuthority, makeCertificate, type MadeCertificate } from '../../support/certificates.js';
import { framed, reflected, sendBytes, serviceOf, unary } from '../../support/grpc-client.js';
import { until } from '../../support/until.js';
import { type Doors, type DoorsOptions, MemoryEnforcer, openDoors, TOKEN, tokenCallers } from './doors.js';

const SERVER = makeCertificate({ commonNames: ['localhost'], dnsNames: ['localhost'] });
const authority = makeAuthority();
const envoy = makeCertificate({ uris: ['spiffe://shop/envoy'], by: authority });
const nginx = makeCertificate({ uris: ['spiffe://shop/nginx'], by: authority });
const stranger = makeCertificate({ uris: ['spiffe://shop/envoy'], by: makeAuthority('somebody') });
const expired = makeCertificate({ uris: ['spiffe://shop/envoy'], by: authority, notAfter: new Date(Date.now() - 60_000) });
const future = makeCertificate({ uris: ['spiffe://shop/envoy'], by: authority, notBefore: new Date(Date.now() + 3_600_000) });
const nameless = makeCertificate({ dnsNames: ['envoy'], by: authority });

const ends: (() => unknown)[] = [];
const said: unknown[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  said.length = 0;
});

function doorOf(options: Partial<TlsDoorOptions> = {}): TlsDoor {
  return new TlsDoor({
    pair: { cert: SERVER.cert, key: SERVER.key, clientCa: authority.cert },
    clientCertificate: 'optional',
    handshakeTimeoutMs: 10_000,
    mostOfPeer: 100,
    logger: { warn: (...words: unknown[]) => void said.push(words.at(-1)) } as never,
    ...options,
  });
}

const certified = new CertifiedCallers({ part: 'san-uri', names: ['spiffe://shop/envoy'] });

/** A door by HTTP that says who has called. */
async function openHttp(tls: TlsDoor): Promise<number> {
  const server = new DecisionServer({
    routes: { '/who': { handle: ({ caller, peer }) => Promise.resolve(jsonAnswer({ caller, peer })) } },
    callers: tokenCallers(certified),
    counts: new CallCounts(),
    logger: { error: (...words: unknown[]) => void said.push(words.at(-1)) } as never,
    maxInFlight: 100,
    maxConnections: 100,
    maxBufferedBytes: 1_000_000,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 20_000,
    longestAnswerMs: 30_000,
    tls,
  });
  ends.push(() => server.close(100));
  return server.listen(0, '127.0.0.1');
}

const shown = (by: MadeCertificate | undefined) => (by === undefined ? {} : { cert: by.cert, key: by.key });

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function who(port: number, by?: MadeCertificate, headers: Record<string, string> = {}): Promise<Answered> {
  const request = httpsRequest({
    host: '127.0.0.1',
    port,
    path: '/who',
    servername: 'localhost',
    ca: SERVER.cert,
    agent: false,
    headers,
    ...shown(by),
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode!, body: JSON.parse(text) as Record<string, unknown> };
}

async function openTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: SERVER.cert, ...options });
  ends.push(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

function openPlain(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  ends.push(() => socket.destroy());
  return socket;
}

const BEARER = { authorization: `Bearer ${TOKEN}` };

describe('by HTTP', () => {
  test('a caller is known by its certificate, or by its token', async () => {
    const port = await openHttp(doorOf());
    expect(await who(port, envoy)).toEqual({ status: 200, body: { caller: 'spiffe://shop/envoy', peer: '127.0.0.1' } });
    expect(await who(port, undefined, BEARER)).toEqual({ status: 200, body: { caller: 'test', peer: '127.0.0.1' } });
    // The Authorization of somebody whom the caller serves.
    expect((await who(port, envoy, { authorization: 'Bearer of-its-client' })).body['caller']).toBe('spiffe://shop/envoy');
  });

  test.each<[string, MadeCertificate | undefined, number, string]>([
    ['none and no token', undefined, 401, 'token.missing'],
    ['one of another authority', stranger, 401, 'decision_api.certificate_untrusted'],
    ['one that has expired', expired, 401, 'decision_api.certificate_expired'],
    ['one that is not valid yet', future, 401, 'decision_api.certificate_expired'],
    ['one that names nobody', nameless, 401, 'decision_api.certificate_name'],
    ['one whose name is not listed', nginx, 403, 'decision_api.certificate_not_listed'],
  ])('a caller with %s is refused, and a valid token makes up for none that is shown', async (_case, by, status, code) => {
    const port = await openHttp(doorOf());
    expect(await who(port, by)).toMatchObject({ status, body: { code } });
    if (by !== undefined) expect(await who(port, by, BEARER)).toMatchObject({ status, body: { code } });
  });

  test('where certificates are required nobody without a good one is answered', async () => {
    const tls = doorOf({ clientCertificate: 'required' });
    const port = await openHttp(tls);
    expect((await who(port, envoy)).status).toBe(200);
    await expect(who(port, undefined, BEARER)).rejects.toThrow();
    await expect(who(port, stranger)).rejects.toThrow();
    await until(() => tls.handshakes.failed === 2);
  });

  test('HTTP/1.1 is what it speaks, and TLS 1.1 is not', async () => {
    const port = await openHttp(doorOf());
    expect((await openTls(port, { ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol).toBe('http/1.1');
    await expect(openTls(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' })).rejects.toThrow();
  });

  test('other files are used by new connections, and those that are there go on', async () => {
    const tls = doorOf();
    const port = await openHttp(tls);
    const before = await openTls(port, shown(envoy));
    const [next, nextAuthority] = [makeCertificate({ dnsNames: ['localhost'] }), makeAuthority('next')];
    tls.renew({ cert: next.cert, key: next.key, clientCa: nextAuthority.cert });
    await expect(openTls(port)).rejects.toThrow();
    const after = await openTls(port, { ca: next.cert, ...shown(envoy) });
    for (const socket of [before, after]) socket.write('GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect([await received(before), await received(after)]).toEqual([
      expect.stringContaining('spiffe://shop/envoy'),
      expect.stringContaining('decision_api.certificate_untrusted'),
    ]);
  });
});

async function received(socket: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

describe('handshakes', () => {
  test('that fail are counted, and told once', async () => {
    const tls = doorOf();
    const port = await openHttp(tls);
    for (let i = 0; i < 3; i++) {
      const plain = openPlain(port);
      plain.write('GET /who HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(await received(plain).catch(() => '')).not.toContain('HTTP/');
    }
    await until(() => tls.handshakes.failed === 3);
    expect(said).toEqual(['connections ended before TLS was spoken; the last one is told']);
  });

  test('that are not begun end by themselves', async () => {
    const tls = doorOf({ handshakeTimeoutMs: 50 });
    const port = await openHttp(tls);
    await once(openPlain(port).resume(), 'close');
    await until(() => tls.handshakes.failed === 1);
    await until(() => tls.handshakes.underWay === 0);
  });

  test('of one address are bounded, what has spoken TLS does not count, and a process that ends waits for none', async () => {
    const tls = doorOf({ mostOfPeer: 2 });
    const port = await openHttp(tls);
    // A client of TLS 1.3 is through before the server is.
    for (let i = 0; i < 3; i++) {
      await openTls(port);
      await until(() => tls.handshakes.underWay === 0);
    }
    const silent = [openPlain(port).resume(), openPlain(port).resume()];
    await until(() => tls.handshakes.underWay === 2);
    await once(openPlain(port).resume(), 'close');
    expect(silent.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    await ends.shift()!();
    await until(() => silent.every(({ closed }) => closed));
    expect(tls.handshakes.underWay).toBe(0);
  });
});

describe('by gRPC', () => {
  const decisions = serviceOf('tollgate/v1/decision.proto', 'tollgate.v1.DecisionService');
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${TOKEN}`);

  async function openGrpc(options: DoorsOptions = {}): Promise<Doors> {
    const enforcer = new MemoryEnforcer();
    enforcer.rules.set('acme', [
      ruleOf('17', { limits: startLimits([burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 60_000 })], 0) }),
    ]);
    const doors = await openDoors(enforcer, { tls: doorOf(), certified, ...options });
    ends.push(() => doors.doors.close(100));
    return doors;
  }

  function clientOf(port: number, by?: MadeCertificate): Client {
    const buffer = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
    const client = new Client(`127.0.0.1:${port}`, credentials.createSsl(Buffer.from(SERVER.cert), buffer(by?.key), buffer(by?.cert)), {
      'grpc.ssl_target_name_override': 'localhost',
      'grpc.use_local_subchannel_pool': 1,
    });
    ends.push(() => client.close());
    return client;
  }

  const check = (client: Client, given = new Metadata()) => unary(client, decisions, 'Check', { merchant: 'acme' }, given);

  test('a stock client speaks HTTP/2 over TLS, and is known by its certificate or by its token', async () => {
    const { port, errors } = await openGrpc();
    expect(await check(clientOf(port, envoy))).toMatchObject({ allowed: true, limit: { remaining: 2 } });
    expect(await check(clientOf(port), metadata)).toMatchObject({ allowed: true, limit: { remaining: 1 } });
    expect(errors).toEqual([]);
  });

  test.each<[string, MadeCertificate | undefined, number]>([
    ['none and no token', undefined, 16],
    ['one of another authority', stranger, 16],
    ['one whose name is not listed', nginx, 7],
  ])('a caller with %s is refused', async (_case, by, code) => {
    const { port } = await openGrpc();
    expect(await check(clientOf(port, by), by === undefined ? new Metadata() : metadata)).toMatchObject({ code });
  });

  test('each caller has its own limit, also where two connections are open', async () => {
    const both = new CertifiedCallers({ part: 'san-uri', names: [] });
    const { port } = await openGrpc({ callerPerSecond: 1, certified: both });
    const [first, second] = [clientOf(port, envoy), clientOf(port, nginx)];
    expect(await check(first)).toMatchObject({ allowed: true });
    expect(await check(second)).toMatchObject({ allowed: true });
    expect([await check(first), await check(second)]).toMatchObject([{ code: 8 }, { code: 8 }]);
  });

  test.each<[string, Buffer, Record<string, string>, object]>([
    ['bytes that are no message', framed(Buffer.alloc(11, 0xff)), {}, { grpc: '13' }],
    ['a message that announces 4 GiB', framed(Buffer.from([1]), { length: 0xffff_ffff }), {}, { grpc: '8' }],
    ['less than announced', framed(Buffer.from([0x0a]), { length: 100 }), {}, {}],
    ['a broken compression', framed(Buffer.from([1]), { compressed: 1 }), { 'grpc-encoding': 'gzip' }, {}],
    ['a deadline that has passed', framed(Buffer.from([0x0a, 4, ...Buffer.from('acme')])), { 'grpc-timeout': '0n' }, { grpc: '4' }],
    ['another content type', framed(Buffer.alloc(0)), { 'content-type': 'text/plain' }, { status: 415 }],
  ])('%s is an error, takes nothing, and harms nobody', async (_case, bytes, headers, expected) => {
    const { port, errors } = await openGrpc();
    const tls = { ca: SERVER.cert, servername: 'localhost', ...shown(envoy) };
    const answer = await sendBytes(port, '/tollgate.v1.DecisionService/Check', bytes, headers, tls);
    expect(answer).toMatchObject(expected);
    expect(answer.grpc).not.toBe('0');
    expect(await check(clientOf(port, envoy))).toMatchObject({ allowed: true, limit: { remaining: 2 } });
    expect(errors).toEqual([]);
  });

  test('what is no HTTP/2 behind the handshake ends the connection', async () => {
    const { port, errors } = await openGrpc();
    const socket = await openTls(port, { ALPNProtocols: ['h2'], ...shown(envoy) });
    socket.write(Buffer.alloc(1_000, 0x58));
    await received(socket).catch(() => '');
    expect(await check(clientOf(port, envoy))).toMatchObject({ allowed: true });
    expect(errors).toEqual([]);
  });

  test('health is answered to whoever has spoken TLS', async () => {
    const { port } = await openGrpc();
    const folder = join(ROOT, 'node_modules/grpc-health-check/proto');
    const health = serviceOf('health/v1/health.proto', 'grpc.health.v1.Health', folder);
    expect(await unary(clientOf(port), health, 'Check', { service: '' }, new Metadata())).toEqual({ status: 'SERVING' });
  });

  test('reflection is answered to whoever has spoken TLS', async () => {
    const { port, errors } = await openGrpc();
    const { services, file } = await reflected(clientOf(port));
    expect(services).toEqual(expect.arrayContaining(['tollgate.v1.DecisionService', 'envoy.service.auth.v3.Authorization']));
    expect(file.includes('CheckStreamRequest')).toBe(true);
    expect(errors).toEqual([]);
  });

  test('where certificates are required, reflection needs one', async () => {
    const { port } = await openGrpc({ tls: doorOf({ clientCertificate: 'required' }) });
    expect((await reflected(clientOf(port))).services).toEqual([]);
    expect((await reflected(clientOf(port, envoy))).services).toContain('tollgate.v1.DecisionService');
  });

  test('a caller that reads no answers is not read on, and is answered when it reads', async () => {
    const { port, counts } = await openGrpc();
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: SERVER.cert, servername: 'localhost', ...shown(envoy) });
    ends.push(() => session.destroy());
    const { path, requestSerialize } = decisions['CheckStream']!;
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    const all = 2_000;
    const messages = Array.from({ length: all }, (_, id) => framed(requestSerialize({ id: id + 1, request: { merchant: 'acme' } })));
    stream.end(Buffer.concat(messages));
    let [seen, same] = [0, 0];
    const other = clientOf(port, envoy);
    // Calls on another connection are answered meanwhile, until nothing more is taken of the stream.
    await until(async () => {
      await check(other);
      same = counts.length - seen === 1 ? same + 1 : 0;
      seen = counts.length;
      return same === 20 && counts.length > 100;
    });
    expect(counts.filter((each) => each.includes('CheckStream')).length).toBeLessThan(all);
    stream.resume();
    await once(stream, 'end');
    await until(() => counts.filter((each) => each.includes('CheckStream')).length === all);
  });

  test('nothing but HTTP/2 is negotiated, and whoever negotiates nothing is not served', async () => {
    const { port } = await openGrpc();
    await expect(openTls(port, { ALPNProtocols: ['http/1.1'] })).rejects.toThrow();
    const without = await openTls(port);
    expect(await received(without)).toBe('');
  });
});
