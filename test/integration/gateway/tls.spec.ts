import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { makeAuthority, makeCertificate } from '../../support/certificates.js';
import { until } from '../../support/until.js';
import { startUpstream, stopAll } from './proxy-harness.js';
import { closeClients, openHttp2, openTls, SERVER, startTlsProxy } from './tls-harness.js';

afterEach(async () => {
  closeClients();
  await stopAll();
});

async function startEcho() {
  const seen: { method?: string | undefined; headers: Record<string, unknown>; body: string }[] = [];
  const upstream = await startUpstream((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      seen.push({ method: request.method, headers: request.headers, body });
      response.end(`<${body}>`);
    });
  });
  return { seen, url: upstream.url };
}

/** What comes until the connection ends. */
async function received(socket: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

it.each([true, false])(
  'HTTP/1.1 over TLS is served as without, and the upstream is told that it was https (fast lane: %j)',
  async (fastLane) => {
    const { seen, url } = await startEcho();
    const { port, metrics } = await startTlsProxy(url, {}, { fastLane });
    const request = httpsRequest({ host: '127.0.0.1', port, servername: 'localhost', ca: SERVER.cert, method: 'POST', agent: false });
    request.end('x'.repeat(100_000));
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(response.statusCode).toBe(200);
    expect(await received(response)).toHaveLength(100_002);
    expect(seen[0]!.headers['x-forwarded-proto']).toBe('https');
    // Node's client says that its connection is to be closed, which is not plain.
    const socket = await openTls(port);
    const answers = received(socket);
    for (let i = 1; i <= 2; i++) {
      socket.write('POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi');
      await until(() => seen.length === i + 1);
    }
    socket.write('GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await answers).match(/HTTP\/1\.1 200 OK|Connection: close|<hi>|<>/g)).toEqual([
      ...['HTTP/1.1 200 OK', '<hi>', 'HTTP/1.1 200 OK', '<hi>'],
      ...['HTTP/1.1 200 OK', 'Connection: close', '<>'],
    ]);
    expect([metrics.fastRequests, metrics.leftFastLane]).toEqual(fastLane ? [2, 2] : [0, 0]);
  },
);

it.each([
  ['offers nothing', undefined, false],
  ['offers both', ['h2', 'http/1.1'], 'h2'],
  ['offers HTTP/1.1 alone', ['http/1.1'], 'http/1.1'],
])('a client that %s gets the protocol that both speak', async (_case, ALPNProtocols, protocol) => {
  const { port } = await startTlsProxy((await startEcho()).url);
  expect((await openTls(port, ALPNProtocols && { ALPNProtocols })).alpnProtocol).toBe(protocol);
});

it('HTTP/2 is not offered where it is turned off', async () => {
  const { port } = await startTlsProxy((await startEcho()).url, { http2: false });
  expect((await openTls(port, { ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol).toBe('http/1.1');
});

it('TLS 1.1 is refused, and so is a request without TLS; both count, and neither is answered', async () => {
  const { port, metrics } = await startTlsProxy((await startEcho()).url);
  await expect(openTls(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' })).rejects.toThrow();
  const plain = connect(port, '127.0.0.1').on('error', () => {});
  plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await received(plain)).not.toContain('HTTP/');
  await until(() => metrics.failedHandshakes === 2);
});

it('another certificate is shown to new connections, and those that are there go on', async () => {
  const { port, server } = await startTlsProxy((await startEcho()).url);
  const before = await openTls(port);
  const next = makeCertificate({ dnsNames: ['localhost'] });
  server.renewTls({ cert: next.cert, key: next.key });
  await expect(openTls(port)).rejects.toThrow();
  const after = await openTls(port, { ca: next.cert });
  expect(after.getPeerX509Certificate()!.fingerprint256).toBe(next.x509.fingerprint256);
  before.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(await received(before)).toContain('200 OK');
});

it('connections count before their handshake: a peer that begins many gets its share', async () => {
  const { port, scrape } = await startTlsProxy((await startEcho()).url, {}, { trusts: () => false, maxConnectionsPerPeer: 2 });
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await until(async () => expect(await scrape()).toContain('tollgate_shed_total{reason="peer_connections"} 1'));
  for (const socket of sockets) socket.destroy();
});

describe('a gateway that asks clients for certificates', () => {
  const authority = makeAuthority();
  const good = makeCertificate({ commonNames: ['acme'], by: authority });
  const strange = makeCertificate({ commonNames: ['acme'], by: makeAuthority('somebody') });
  const tls = (clientCertificate: 'optional' | 'required') => ({
    pair: { cert: SERVER.cert, key: SERVER.key, clientCa: authority.cert },
    clientCertificate,
  });

  it.each([
    ['none', undefined, null],
    ['one of its authority', good, { subject: 'CN=acme', verified: true }],
    ['one of another authority', strange, { subject: 'CN=acme', verified: false }],
  ])('tells admission of %s, by HTTP/1.1 and HTTP/2', async (_case, shows, told) => {
    const { port, asked } = await startTlsProxy((await startEcho()).url, tls('optional'));
    const socket = await openTls(port, shows && { cert: shows.cert, key: shows.key });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await received(socket);
    const stream = (await openHttp2(port, shows)).request({ ':path': '/' });
    await received(stream);
    const shown = asked.map(
      ({ certificate }) => certificate && { subject: certificate.certificate.subject, verified: certificate.verified },
    );
    expect(shown).toEqual([told, told]);
  });

  it.each([
    ['none', undefined, false],
    ['one of its authority', good, true],
    ['one of another authority', strange, false],
  ])('and requires them does not serve a client with %s unless it is right', async (_case, shows, served) => {
    const { port, asked } = await startTlsProxy((await startEcho()).url, tls('required'));
    const socket = connectedOrNot(await openTls(port, shows && { cert: shows.cert, key: shows.key }));
    expect((await socket).includes('200 OK')).toBe(served);
    expect(asked).toHaveLength(served ? 1 : 0);
  });
});

async function connectedOrNot(socket: NodeJS.ReadWriteStream): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return received(socket).catch(() => '');
}
