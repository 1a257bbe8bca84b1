import { until } from '../../support/until.js';
import { FORWARD, RawClient, REFUSAL, send, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

async function start(options: Parameters<typeof startProxy>[1] = {}) {
  const reached: string[] = [];
  const { url } = await startUpstream((request, response) => {
    reached.push(request.url!);
    request.resume().on('end', () => response.end('ok'));
  });
  return { reached, ...(await startProxy(url, options)) };
}

describe('refused before admission, with a problem and the end of the connection', () => {
  const body = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

  it.each([
    ['a duplicate Host', 400, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no Host', 400, 'GET / HTTP/1.1\r\n\r\n'],
    ['an absolute target', 400, 'GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a fragment', 400, 'GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['the asterisk', 501, 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['CONNECT', 501, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['websocket', 501, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['two framings', 400, `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${body('abc')}`],
    [
      'two framings, the other way',
      400,
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${body('abc')}`,
    ],
    ['another transfer coding', 400, `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${body('abc')}`],
    ['a transfer coding that is none', 400, `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n${body('abc')}`],
    ['a transfer coding in HTTP/1.0', 400, `POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body('abc')}`],
    ['two lengths', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    ['a list of lengths', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc'],
    ['a signed length', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc'],
    ['a length that is none', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3x\r\n\r\nabc'],
    ['a space before the colon', 400, 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a folded header', 400, 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n'],
    ['a bare line feed in a value', 400, 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\nX-B: c\r\n\r\n'],
    ['a null byte', 400, 'GET / HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n'],
    ['an unknown method', 405, 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a method in lower case', 405, 'get / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['HTTP/2.0', 505, 'GET / HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['the preface of HTTP/2', 505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 505, 'GET /\r\n\r\n'],
    ['HTTP/1.2', 505, 'GET / HTTP/1.2\r\nHost: x\r\n\r\n'],
    ['another protocol', 400, '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'],
    ['large headers', 431, `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('%s: %i', async (_case, status, request) => {
    const { port, asked, reached, metrics } = await start();
    const client = (await RawClient.open(port)).write(request + SMUGGLED);
    await client.closed;
    expect(client.statuses).toEqual([status]);
    const [head = '', text = ''] = client.received.split('\r\n\r\n');
    expect(head).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(head).toMatch(/\r\nConnection: close/);
    const requestId = /\r\nX-Request-Id: (\S+)/.exec(head)?.[1];
    expect(JSON.parse(text)).toMatchObject({ type: expect.stringContaining('/problems/'), code: expect.any(String), status, requestId });
    expect([asked, reached, metrics.inFlight]).toEqual([[], [], 0]);
  });
});

it.each([
  ['TRACE', 405, 'TRACE / HTTP/1.1'],
  ['an ambiguous path', 400, 'GET /a/..%2fb HTTP/1.1'],
])('%s is refused with %i, and the connection goes on', async (_case, status, line) => {
  const { port, asked, reached } = await start();
  const client = await RawClient.open(port);
  client.write(`${line}\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n`);
  await client.until('ok');
  expect(client.statuses).toEqual([status, 200]);
  expect([asked.length, reached]).toEqual([1, ['/next']]);
});

it.each([
  ['a last request', 'Connection: close\r\n'],
  ['one that others may follow', ''],
])('a body of %s that is not HTTP/1.1 is refused when that is known, not when its time is over', async (_case, header) => {
  const { port, metrics } = await start();
  const client = await RawClient.open(port);
  client.write(`POST /a HTTP/1.1\r\nHost: x\r\n${header}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n`);
  client.socket.end();
  await client.closed;
  expect([client.statuses, metrics.inFlight]).toEqual([[400], 0]);
});

it.each(['BREW', 'TRACE'])('the answer to %s says which methods are supported', async (method) => {
  const { port } = await start();
  const client = (await RawClient.open(port)).write(`${method} / HTTP/1.1`, 'Host: x', 'Connection: close', '', '');
  await client.closed;
  expect(client.received).toMatch(/\r\nAllow: [^\r]*\bGET\b[^\r]*\bPOST\b/);
  expect(client.received).not.toMatch(/\r\nAllow: [^\r]*\bTRACE\b/);
});

it('names with _ that look like those of the gateway do not reach the upstream, whoever sends them', async () => {
  for (const trusts of [() => true, () => false]) {
    const names: string[][] = [];
    const { url } = await startUpstream((request, response) => {
      names.push(request.rawHeaders.filter((_, i) => i % 2 === 0));
      response.writeHead(200, { Content_Length: '1', RateLimit_Policy: 'x', X_Thing: 'y' }).end('ok');
    });
    const { port } = await startProxy(url, { trusts });
    const client = await RawClient.open(port);
    client.write(
      'GET / HTTP/1.1',
      'Host: x',
      'X-Merchant-Id: acme',
      'X_Merchant_Id: other',
      'X_Forwarded_For: 1.1.1.1',
      'Transfer_Encoding: chunked',
      'X_Thing: z',
      '',
      '',
    );
    await client.until('ok');
    expect(names.flat().filter((name) => name.includes('_'))).toEqual(['X_Thing']);
    expect(client.received).toMatch(/X_Thing: y/);
    expect(client.received).not.toMatch(/Content_Length|RateLimit_Policy/);
  }
});

it('an unknown expectation is refused with 417', async () => {
  const { port, asked } = await start();
  const answer = await send(port, { headers: { Expect: 'wonders' } });
  expect(answer).toMatchObject({ status: 417, headers: { 'content-type': 'application/problem+json' } });
  expect(asked).toEqual([]);
});

it('what is wrong with the headers comes before an expectation that cannot be met', async () => {
  const { port, reached } = await start();
  const client = (await RawClient.open(port)).write('GET /a HTTP/1.1\r\nExpect: wonders\r\n\r\n' + SMUGGLED);
  await client.closed;
  expect(client.statuses).toEqual([400]);
  expect(reached).toEqual([]);
});

it('what follows a request with Connection: close is not looked at', async () => {
  const { port, reached } = await start();
  const client = (await RawClient.open(port)).write(`GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${SMUGGLED}`);
  await client.closed;
  expect(client.statuses).toEqual([200]);
  expect(reached).toEqual(['/a']);
});

/** Found by the fuzzer: node ends the connection behind such an answer, and what followed was begun and never answered. */
it.each([
  ['forwarded', FORWARD, 200],
  ['refused', REFUSAL, 429],
])(
  'a request without a body that waits to be asked for it, and is %s, is the last of its connection: what follows is not begun',
  async (_what, admission, status) => {
    const { port, reached, asked } = await start({ admit: (_request, done) => void setImmediate(done, admission) });
    const client = await RawClient.open(port);
    client.write('GET /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n' + SMUGGLED + SMUGGLED);
    await client.closed;
    expect(client.statuses).toEqual([status]);
    expect(client.received).toMatch(/\r\nConnection: close\r\n/i);
    expect([asked.length, reached]).toEqual([1, status === 200 ? ['/a'] : []]);
  },
);

it('an offer of h2c is ignored', async () => {
  const { port, reached } = await start();
  const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
  expect((await send(port, { path: '/h2c', headers })).status).toBe(200);
  expect(reached).toEqual(['/h2c']);
});

it('many small headers are all seen, the last one too', async () => {
  const { port, asked } = await start();
  const many = 'A:\r\n'.repeat(2_500);
  const client = (await RawClient.open(port)).write(`GET / HTTP/1.1\r\nHost: x\r\n${many}X-Merchant-Id: acme\r\n\r\n`);
  await client.until('ok');
  expect(asked[0]!.head.merchantId).toBe('acme');
});

it('garbage after a whole request does not spoil its answer, but ends the connection', async () => {
  const { port, reached } = await start();
  const client = (await RawClient.open(port)).write('GET /a HTTP/1.1', 'Host: x', '', 'GARBAGE!!', '', '');
  await client.closed;
  expect(client.statuses).toEqual([200]);
  expect(client.received).toMatch(/\r\nConnection: close/);
  expect(reached).toEqual(['/a']);
});

it('a malformed chunk ends the upload with 400, and its exchange with the upstream', async () => {
  const { port, metrics } = await start();
  const client = await RawClient.open(port);
  client.write('POST / HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', '', '3', 'abc', 'no number', '', '');
  await client.closed;
  expect(client.statuses).toEqual([400]);
  expect(metrics.inFlight).toBe(0);
});

it('a client that is slow with its headers gets 408', async () => {
  const { port } = await start({ clientHeadersTimeoutMs: 200 });
  const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', 'X-A: ');
  await client.closed;
  expect(client.statuses).toEqual([408]);
  expect(client.received).toMatch(/application\/problem\+json/);
});

describe('a client whose headers came in time is answered, however long the gateway did not run meanwhile', () => {
  const HEADERS_MS = 200;
  /** As if the gateway had been frozen: what was sent lies in its sockets when its timers fire. */
  const freeze = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it.each([
    ['all of them', [], ['GET / HTTP/1.1', 'Host: x', '', '']],
    ['the second half of them', ['GET / HTTP/1.1', 'Host: x', 'X-A: '], ['y', '', '']],
  ])('%s', async (_case, before, meanwhile) => {
    const { port } = await start({ clientHeadersTimeoutMs: HEADERS_MS });
    const client = (await RawClient.open(port)).write(...before);
    // Connections are accepted in order: once a later one is answered, the gateway waits for this one.
    const later = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', 'Connection: close', '', '');
    await later.closed;
    client.write(...meanwhile);
    freeze(2 * HEADERS_MS);
    await client.until(/\r\n\r\n/);
    expect(client.statuses).toEqual([200]);
  });
});

it('a client that says nothing in the middle of its upload is cut off', async () => {
  const { port, metrics } = await start({ clientIdleTimeoutMs: 200 });
  const client = (await RawClient.open(port)).write('POST / HTTP/1.1', 'Host: x', 'Content-Length: 1000000', '', 'x');
  await client.closed;
  await until(() => metrics.inFlight === 0);
});

it('more connections than allowed are closed', async () => {
  const { port } = await start({ maxConnections: 1 });
  const first = await RawClient.open(port);
  const second = await RawClient.open(port);
  await second.closed;
  first.write('GET / HTTP/1.1', 'Host: x', '', '');
  await first.until('ok');
});
