import { OUTCOMES } from '../../../apps/gateway/src/proxy/proxy-metrics.js';
import { until } from '../../support/until.js';
import { RawClient, startProxy, startTcpUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** What an upstream sends, in pieces; `end` closes the connection behind it. */
interface Sent {
  readonly pieces: readonly string[];
  readonly end?: boolean;
  readonly method?: string;
}

const whole = (text: string): Sent => ({ pieces: [text] });
const ending = (text: string): Sent => ({ pieces: [text], end: true });

/** What a client gets of an upstream that answers every request so, twice on one connection, and what is counted. */
async function outcomeOf({ pieces, end = false, method = 'GET' }: Sent, fastLane: boolean) {
  const upstream = await startTcpUpstream((socket) => {
    socket.on('data', () => {
      for (const piece of pieces) socket.write(piece, 'latin1');
      if (end) socket.end();
    });
  });
  const proxy = await startProxy(upstream.url, { fastLane });
  const client = await RawClient.open(proxy.port);
  const request = [
    `${method} /a HTTP/1.1`,
    'Host: x',
    ...(method === 'POST' ? ['Content-Length: 2'] : []),
    '',
    method === 'POST' ? 'hi' : '',
  ];
  const ended = () => OUTCOMES.reduce((sum, _name, i) => sum + proxy.metrics.count(i as 0), 0);
  for (const requests of [1, 2]) {
    if (client.socket.destroyed) break;
    client.write(...request);
    await until(() => ended() === requests || client.socket.destroyed);
  }
  client.socket.end();
  await client.closed;
  if (fastLane) expect(proxy.metrics.fastRequests).toBeGreaterThan(0);
  const failures = proxy.log.map(({ kind }) => kind);
  const received = client.received.replaceAll(/Date: .*|[A-Za-z0-9_-]{12}-\w+/g, '');
  return { received, failures, counts: OUTCOMES.map((_name, i) => proxy.metrics.count(i as 0)) };
}

test.each<[string, Sent]>([
  ['with a length', whole(`${OK}Content-Length: 2\r\nX-A: b\r\n\r\nhi`)],
  ['in pieces', { pieces: [...`${OK}Content-Length: 2\r\n\r\nhi`] }],
  ['of nothing', whole(`${OK}Content-Length: 0\r\n\r\n`)],
  ['to a POST', { ...whole(`${OK}Content-Length: 2\r\n\r\nhi`), method: 'POST' }],
  ['to a HEAD', { ...whole(`${OK}Content-Length: 2\r\n\r\n`), method: 'HEAD' }],
  ['to a HEAD, with a body that may not be', { ...whole(`${OK}Content-Length: 2\r\n\r\nhi`), method: 'HEAD' }],
  ['in chunks', whole(`${CHUNKED}2\r\nhi\r\n0\r\n\r\n`)],
  ['in chunks, with trailers', whole(`${CHUNKED}2\r\nhi\r\n0\r\nX-Checksum: 1\r\nContent-Length: 3\r\n\r\n`)],
  ['until the end', ending(`${OK}\r\nhi`)],
  ['by HTTP/1.0', ending('HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi')],
  ['that closes', ending(`${OK}Connection: close\r\nContent-Length: 2\r\n\r\nhi`)],
  ['that names headers in Connection', whole(`${OK}Connection: keep-alive, x-a\r\nX-A: b\r\nContent-Length: 0\r\n\r\n`)],
  ['that is kept for no time', whole(`${OK}Keep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n`)],
  ['without content', whole('HTTP/1.1 204 No Content\r\n\r\n')],
  ['not modified', whole('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n')],
  ['of an unknown status', whole('HTTP/1.1 299 Whatever\r\nContent-Length: 0\r\n\r\n')],
  ['behind early hints', whole(`HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${OK}Content-Length: 0\r\n\r\n`)],
  ['behind 102', whole(`HTTP/1.1 102 Processing\r\n\r\n${OK}Content-Length: 0\r\n\r\n`)],
  ['behind 100, which nobody has asked for', whole(`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 0\r\n\r\n`)],
  ['with bytes beyond ASCII in a header', whole(`${OK}X-A: \xe4\r\nContent-Length: 0\r\n\r\n`)],
  ['with a date', whole(`${OK}date: yesterday\r\nContent-Length: 0\r\n\r\n`)],
  ['that is large', whole(`${OK}Content-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`)],
  ['that is large, and in chunks', whole(`${CHUNKED}186a0\r\n${'x'.repeat(100_000)}\r\n0\r\n\r\n`)],
  ['that breaks off in its head', ending(`${OK}Content-Le`)],
  ['that breaks off in its body', ending(`${OK}Content-Length: 5\r\n\r\nhi`)],
  ['that breaks off in its chunks', ending(`${CHUNKED}5\r\nhi`)],
  ['that is none', ending('')],
  ['that is not HTTP', whole('220 mail.example ESMTP\r\n')],
  ['of another HTTP', whole('HTTP/3.0 200 OK\r\n\r\n')],
  ['with two lengths', whole(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi`)],
  ['with a length and chunks', whole(`${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`)],
  ['with a folded line', whole(`${OK}A: b\r\n c\r\nContent-Length: 0\r\n\r\n`)],
  ['with a bare line feed', whole('HTTP/1.1 200 OK\nContent-Length: 0\n\n')],
  ['with a zero in a header', whole(`${OK}A: \0\r\nContent-Length: 0\r\n\r\n`)],
  ['with a bad chunk', { pieces: [`${CHUNKED}2\r\nhi\r\n`, 'zz\r\n'] }],
  ['with too many headers', whole(`${OK}A: ${'x'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`)],
  ['that switches to what nobody has asked for', whole('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')],
])('an answer %s is the same on both lanes, to the byte', async (_what, sent) => {
  const [slow, fast] = [await outcomeOf(sent, false), await outcomeOf(sent, true)];
  expect(fast).toEqual(slow);
});

test('what an upstream sends behind an answer is not the answer to the next request', async () => {
  const upstream = await startTcpUpstream((socket) => {
    socket.on('data', () => {
      socket.write(`${OK}Content-Length: 4\r\n\r\ngood`);
      setImmediate(() => socket.write(`${OK}Content-Length: 3\r\n\r\nbad`));
    });
  });
  const proxy = await startProxy(upstream.url, { fastLane: true });
  const client = await RawClient.open(proxy.port);
  for (let answers = 1; answers <= 20; answers++) {
    client.write('GET /a HTTP/1.1', 'Host: x', '', '');
    await until(() => client.received.split('good').length === answers + 1);
  }
  expect(client.received).not.toContain('bad');
});

test('connections to the upstream are used again, and one that the upstream has closed is not', async () => {
  const upstream = await startTcpUpstream((socket) => {
    socket.on('data', () => socket.write(`${OK}Content-Length: 0\r\n\r\n`));
  });
  const proxy = await startProxy(upstream.url, { fastLane: true });
  const client = await RawClient.open(proxy.port);
  const ask = async (answers: number) => {
    client.write('GET /a HTTP/1.1', 'Host: x', '', '');
    await until(() => client.statuses.length === answers);
  };
  await ask(1);
  await ask(2);
  expect(upstream.connections).toHaveLength(1);
  const [first] = upstream.connections;
  const closed = new Promise((resolve) => first!.once('close', resolve));
  first!.end();
  await closed;
  await ask(3);
  expect([upstream.connections.length, client.statuses]).toEqual([2, [200, 200, 200]]);
});
