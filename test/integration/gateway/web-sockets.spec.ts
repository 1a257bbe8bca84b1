import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Outcome, type ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';
import { FORWARD, RawClient, REFUSAL, send, settledValue, startProxy, startTcpUpstream, stopAll } from './proxy-harness.js';
import { closeClients, openTls, startTlsProxy } from './tls-harness.js';

/** WebSockets through the gateway, byte by byte: what reached the upstream, and what came back. */

afterEach(async () => {
  closeClients();
  await stopAll();
});

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const acceptOf = (key: string): string => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const OPENED = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${acceptOf(KEY)}`];

const HANDSHAKE = [
  'GET /chat HTTP/1.1',
  'Host: x',
  'Connection: keep-alive, Upgrade',
  'Upgrade: websocket',
  `Sec-WebSocket-Key: ${KEY}`,
  'Sec-WebSocket-Version: 13',
];
const handshake = (...more: string[]): string => [...HANDSHAKE, ...more, '', ''].join('\r\n');

interface Reached {
  readonly head: string;
  readonly socket: Socket;
  /** What came behind the head. */
  bytes: string;
  ended: boolean;
}

/** An upstream that looks at all that reaches it, and answers each head with the same lines. */
async function startLooking(lines: readonly string[] = OPENED, behind = '') {
  const reached: Reached[] = [];
  const { url } = await startTcpUpstream((socket) => {
    let text = '';
    let opened: Reached | undefined;
    socket.setEncoding('latin1').on('data', (piece: string) => {
      if (opened !== undefined) {
        opened.bytes += piece;
        return;
      }
      text += piece;
      const end = text.indexOf('\r\n\r\n');
      if (end === -1) return;
      opened = { head: text.slice(0, end), socket, bytes: text.slice(end + 4), ended: false };
      reached.push(opened);
      socket.write([...lines, '', behind].join('\r\n'), 'latin1');
    });
    socket.on('end', () => {
      if (opened !== undefined) opened.ended = true;
    });
  });
  return { reached, url };
}

async function open(options: Partial<ProxyOptions> = {}, more: readonly string[] = []) {
  const { reached, url } = await startLooking();
  const proxy = await startProxy(url, options);
  const client = (await RawClient.open(proxy.port)).write(handshake(...more));
  await client.until('\r\n\r\n');
  return { reached, proxy, client };
}

describe('a WebSocket', () => {
  it('is opened by the upstream, with the headers of any request and any answer', async () => {
    const { reached, proxy, client } = await open(
      { admit: (_request, done) => done({ forward: true, responseHeaders: ['RateLimit', '"a";r=1'] }) },
      ['Sec-WebSocket-Protocol: chat', 'Keep-Alive: timeout=5', 'X_Merchant_Id: other', 'X-Request-Id: r-1'],
    );
    expect(client.received).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(client.received).toMatch(new RegExp(`\r\nSec-WebSocket-Accept: ${acceptOf(KEY).replace('+', '\\+')}\r\n`));
    expect(client.received).toMatch(/\r\nRateLimit: "a";r=1\r\n/);
    expect(client.received).toMatch(/\r\nX-Request-Id: r-1\r\n/);
    expect(client.received.match(/\r\n(?:connection|upgrade|content-length|transfer-encoding): [^\r]*/gi)).toEqual([
      '\r\nConnection: Upgrade',
      '\r\nUpgrade: websocket',
    ]);
    const { head } = reached[0]!;
    expect(head).toMatch(/^GET \/chat HTTP\/1\.1\r\n/);
    expect(head.match(/\r\n(?:connection|upgrade): [^\r]*/gi)).toEqual(['\r\nconnection: upgrade', '\r\nupgrade: websocket']);
    expect(head).toMatch(/\r\nsec-websocket-protocol: chat(?:\r|$)/i);
    expect(head).toMatch(/\r\nX-Forwarded-For: 127\.0\.0\.1(?:\r|$)/);
    expect(head).not.toMatch(/keep-alive|X_Merchant_Id/i);
    expect(proxy.asked).toHaveLength(1);
    expect(await proxy.scrape()).toContain('tollgate_websockets_open 1');
  });

  it('carries bytes both ways, whatever they look like', async () => {
    const { reached, proxy, client } = await open();
    const [upstream] = reached;
    client.write('GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => upstream!.bytes === 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n');
    upstream!.socket.write('HTTP/1.1 500 No\r\n\r\n\0\xff', 'latin1');
    await client.until('HTTP/1.1 500 No\r\n\r\n\0\xff');
    expect([proxy.asked.length, reached.length]).toEqual([1, 1]);
  });

  it('loses nothing that came before it was open, from either side', async () => {
    const { reached, url } = await startLooking(OPENED, 'welcome');
    const { port, asked } = await startProxy(url, { admit: (_request, done) => void setImmediate(() => done(FORWARD)) });
    const client = (await RawClient.open(port)).write(`${handshake()}GET /early HTTP/1.1\r\n\r\n`);
    await client.until(/\r\n\r\nwelcome$/);
    await until(() => reached[0]?.bytes === 'GET /early HTTP/1.1\r\n\r\n');
    expect([asked.length, reached.length]).toEqual([1, 1]);
  });

  it('may come after other requests on its connection', async () => {
    const { url } = await startTcpUpstream((socket) =>
      socket.on('data', (head) =>
        socket.write(
          String(head).startsWith('GET /chat') ? [...OPENED, '', ''].join('\r\n') : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
        ),
      ),
    );
    const client = await RawClient.open((await startProxy(url)).port);
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until('ok');
    client.write(handshake());
    await until(() => expect(client.statuses).toEqual([200, 101]));
  });

  it('is not looked at behind a request that has no answer yet: the connection ends with that answer', async () => {
    const { reached, url } = await startLooking(['HTTP/1.1 200 OK', 'Content-Length: 2'], 'ok');
    const client = await RawClient.open((await startProxy(url)).port);
    client.write(`GET /first HTTP/1.1\r\nHost: x\r\n\r\n${handshake()}`);
    await client.closed;
    expect(client.statuses).toEqual([200]);
    expect(reached.map(({ head }) => head.split('\r\n', 1)[0])).toEqual(['GET /first HTTP/1.1']);
  });

  it.each(['the client', 'the upstream'])('ends when %s ends it, after what that one has said, and the other one is told', async (who) => {
    const { reached, proxy, client } = await open();
    const [upstream] = reached;
    if (who === 'the client') client.socket.end('bye', 'latin1');
    else upstream!.socket.end('bye', 'latin1');
    await client.closed;
    await until(() => upstream!.ended);
    expect(who === 'the client' ? upstream!.bytes : client.received.slice(-3)).toBe('bye');
    await until(() => proxy.metrics.inFlight === 0);
    expect(proxy.metrics.count(Outcome.Forwarded)).toBe(1);
    expect(await proxy.scrape()).toEqual(
      expect.arrayContaining([
        'tollgate_websockets_open 0',
        'tollgate_requests_total{outcome="forwarded",status_class="1xx"} 1',
        'tollgate_upstream_requests_in_flight{upstream="default"} 0',
      ]),
    );
  });

  it('ends for both when either is gone without a word', async () => {
    const { reached, proxy, client } = await open();
    client.socket.resetAndDestroy();
    await once(reached[0]!.socket, 'close');
    await until(() => proxy.metrics.inFlight === 0);
    const second = (await RawClient.open(proxy.port)).write(handshake());
    await second.until('101');
    reached[1]!.socket.resetAndDestroy();
    await second.closed;
    await until(() => proxy.metrics.inFlight === 0);
  });

  it('holds what it took until it ends', async () => {
    let released = 0;
    const reservation = { release: () => void released++, refund: () => {} };
    const { client } = await open({ admit: (_request, done) => done({ forward: true, responseHeaders: [], reservations: [reservation] }) });
    expect(released).toBe(0);
    client.socket.end();
    await until(() => released === 1);
  });

  it.each(['the client', 'the upstream'])('waits for %s to read, and keeps little meanwhile', async (who) => {
    const { reached, client } = await open();
    const [from, to] = who === 'the client' ? [reached[0]!.socket, client.socket] : [client.socket, reached[0]!.socket];
    to.pause();
    let written = 0;
    const more = (): void => {
      while (!from.destroyed && written < 100_000_000) {
        written += 65_536;
        if (!from.write(Buffer.alloc(65_536))) return void from.once('drain', more);
      }
    };
    more();
    const held = await settledValue(() => written);
    expect(held).toBeLessThan(100_000_000);
    to.resume();
    await until(() => written > held);
    from.destroy();
  });

  it('goes through TLS as well', async () => {
    const { reached, url } = await startLooking();
    const socket = await openTls((await startTlsProxy(url)).port, { ALPNProtocols: ['http/1.1'] });
    let received = '';
    socket.setEncoding('latin1').on('data', (piece) => (received += String(piece)));
    socket.write(`${handshake()}hello`);
    await until(() => reached[0]?.bytes === 'hello');
    reached[0]!.socket.write('back');
    await until(() => expect(received).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\nback$/));
    expect(reached[0]!.head).toMatch(/\r\nX-Forwarded-Proto: https(?:\r|$)/);
    socket.end();
    await until(() => reached[0]!.ended);
  });
});

describe('a handshake', () => {
  it.each([
    ['without a key', HANDSHAKE.filter((line) => !line.startsWith('Sec-WebSocket-Key'))],
    ['with two keys', [...HANDSHAKE, `Sec-WebSocket-Key: ${KEY}`]],
    ['with a key that is none', HANDSHAKE.map((line) => (line.includes('-Key') ? 'Sec-WebSocket-Key: short' : line))],
    ['of another version', HANDSHAKE.map((line) => (line.includes('-Version') ? 'Sec-WebSocket-Version: 8' : line))],
    ['with another method', HANDSHAKE.map((line, i) => (i === 0 ? 'POST /chat HTTP/1.1' : line))],
    ['with a second protocol', [...HANDSHAKE, 'Upgrade: h2c']],
    ['with a body', [...HANDSHAKE, 'Content-Length: 0']],
    ['in chunks', [...HANDSHAKE, 'Transfer-Encoding: chunked']],
  ])('%s is refused, and what follows it is not looked at', async (_case, lines) => {
    const { reached, url } = await startLooking();
    const { port, asked } = await startProxy(url);
    const client = (await RawClient.open(port)).write([...lines, '', 'GET /next HTTP/1.1', 'Host: x', '', ''].join('\r\n'));
    await client.closed;
    expect(client.statuses).toEqual([501]);
    expect(client.received).toContain('"code":"request.upgrade"');
    expect([asked, reached]).toEqual([[], []]);
  });

  it('goes through the same hygiene as any request', async () => {
    const { reached, url } = await startLooking();
    const { port, asked } = await startProxy(url);
    const client = (await RawClient.open(port)).write([...HANDSHAKE, 'Host: y', '', ''].join('\r\n'));
    await client.closed;
    expect(client.received).toContain('"code":"host.repeated"');
    const path = (await RawClient.open(port)).write(handshake().replace('/chat', '/a/../chat'));
    await path.closed;
    expect(path.received).toContain('"code":"path.ambiguous"');
    expect([asked, reached]).toEqual([[], []]);
  });

  it('that is refused is answered, and what came behind it is nothing', async () => {
    const { reached, url } = await startLooking();
    const { port, asked } = await startProxy(url, { admit: (_request, done) => done(REFUSAL) });
    const client = (await RawClient.open(port)).write(`${handshake()}GET /next HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.closed;
    expect(client.received).toMatch(/^HTTP\/1\.1 429 [^]*\r\nConnection: close\r\n/);
    expect(client.statuses).toEqual([429]);
    expect([asked.length, reached]).toEqual([1, []]);
  });

  it.each([
    ['200', ['HTTP/1.1 200 OK', 'Content-Length: 5'], 200],
    ['a redirection', ['HTTP/1.1 302 Found', 'Location: /login', 'Content-Length: 5'], 302],
    ['another version', ['HTTP/1.1 426 Upgrade Required', 'Sec-WebSocket-Version: 8', 'Content-Length: 5'], 426],
  ])('that the upstream answers with %s is passed on, and the connection ends', async (_case, lines, status) => {
    const { reached, url } = await startLooking(lines, 'hello');
    const { port, metrics } = await startProxy(url);
    const client = (await RawClient.open(port)).write(`${handshake()}early`);
    await client.closed;
    expect(client.statuses).toEqual([status]);
    expect(client.received).toMatch(/\r\nConnection: close\r\n[^]*\r\n\r\nhello$/);
    expect([reached[0]!.bytes, metrics.inFlight]).toEqual(['', 0]);
  });

  it('waits for a client that does not read a long answer', async () => {
    const { url } = await startLooking(['HTTP/1.1 200 OK', 'Content-Length: 3000000'], 'x'.repeat(3_000_000));
    const { port } = await startProxy(url);
    const client = await RawClient.open(port);
    client.socket.pause();
    client.write(handshake());
    client.socket.resume();
    await client.closed;
    expect(client.received.length).toBeGreaterThan(3_000_000);
  });

  it.each([
    ['with the key of nobody', [...OPENED.slice(0, 3), `Sec-WebSocket-Accept: ${acceptOf('another')}`]],
    ['without a key', OPENED.slice(0, 3)],
    ['to another protocol', [OPENED[0]!, 'Upgrade: h2c', ...OPENED.slice(2)]],
  ])('to which the upstream switches %s is 502', async (_case, lines) => {
    const { reached, url } = await startLooking(lines);
    const { port } = await startProxy(url);
    const client = (await RawClient.open(port)).write(`${handshake()}early`);
    await client.closed;
    expect(client.statuses).toEqual([502]);
    await until(() => reached[0]!.socket.destroyed);
    expect(reached[0]!.bytes).toBe('');
  });

  it('of which nobody asked the upstream for is no answer either', async () => {
    const { url } = await startLooking();
    expect((await send((await startProxy(url)).port)).status).toBe(502);
  });
});

describe('the number of WebSockets', () => {
  it('is bounded for each merchant and in all, and one too many is refunded', async () => {
    let refunded = 0;
    const reservation = { release: () => {}, refund: () => void refunded++ };
    const { reached, url } = await startLooking();
    const { port } = await startProxy(url, {
      maxWebSockets: 4,
      merchantShare: 0.5,
      admit: (request, done) =>
        request.belongsTo(request.receivedValues('x-merchant-id')[0]!) &&
        done({ forward: true, responseHeaders: [], reservations: [reservation] }),
    });
    const ask = async (merchant: string) => {
      const client = (await RawClient.open(port)).write(handshake(`X-Merchant-Id: ${merchant}`));
      await client.until('\r\n\r\n');
      return client;
    };
    expect((await ask('a')).statuses).toEqual([101]);
    const second = await ask('a');
    expect(second.statuses).toEqual([503]);
    await second.until('"code":"websocket.too_many"');
    expect(refunded).toBe(1);
    const others = [];
    for (const merchant of ['b', 'c', 'd']) others.push((await ask(merchant)).statuses[0]);
    expect([others, (await ask('e')).statuses, reached.length]).toEqual([[101, 101, 101], [503], 4]);
  });

  it('takes no connection from requests: those that are open hold none of the pool', async () => {
    const { reached, proxy } = await open({ connections: 1 });
    const [upstream] = reached;
    const second = (await RawClient.open(proxy.port)).write(handshake());
    await second.until('101');
    expect([reached.length, upstream!.socket.destroyed]).toEqual([2, false]);
  });

  it('may be none: then a handshake is refused as any upgrade is', async () => {
    const { reached, url } = await startLooking();
    const client = (await RawClient.open((await startProxy(url, { maxWebSockets: 0 })).port)).write(handshake());
    await client.closed;
    expect([client.statuses, reached]).toEqual([[501], []]);
  });
});

describe('the time of a WebSocket', () => {
  it('ends when nothing has come for so long from either side', async () => {
    const { reached, proxy, client } = await open({ webSocketIdleTimeoutMs: 600 });
    await client.closed;
    await until(() => reached[0]!.ended);
    expect(await proxy.scrape()).toContain('tollgate_shed_total{reason="websocket_idle"} 1');
  });

  it('ends with that of any exchange', async () => {
    const { reached, proxy, client } = await open({ exchangeTimeoutMs: 300 });
    await client.closed;
    await until(() => reached[0]!.socket.destroyed);
    expect(await proxy.scrape()).toContain('tollgate_shed_total{reason="exchange_timeout"} 1');
  });

  it('is not that of silent requests', async () => {
    const times = { clientIdleTimeoutMs: 100, headersTimeoutMs: 100, bodyTimeoutMs: 100, clientHeadersTimeoutMs: 500 };
    const { reached, proxy, client } = await open({ ...times, webSocketIdleTimeoutMs: 60_000 });
    // A connection beside it that has been silent for as long is cut.
    await (await RawClient.open(proxy.port)).write('GET /').closed;
    client.write('still here');
    await until(() => reached[0]!.bytes === 'still here');
  });

  it('goes on while the gateway only drains, and ends at once when it closes', async () => {
    const { reached, proxy, client } = await open();
    proxy.server.drain();
    client.write('on');
    await until(() => reached[0]!.bytes === 'on');
    const closing = proxy.server.close(30_000);
    await client.closed;
    await closing;
    expect([reached[0]!.ended, proxy.metrics.inFlight]).toEqual([true, 0]);
  });

  it('is cut at the end of the grace if the client does not let go', async () => {
    const { reached, proxy, client } = await open();
    // It neither reads nor closes.
    client.socket.pause();
    await proxy.server.close(100);
    await until(() => reached[0]!.socket.destroyed);
    expect(proxy.metrics.inFlight).toBe(0);
  });
});
