import { Agent } from 'node:http';
import { compileTemplate } from '#platform';
import { createPresent } from '../../../apps/gateway/src/rate-limit/presented.js';
import type { Admission } from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';
import { FORWARD, RawClient, REFUSAL, send, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const later =
  (admission: Admission) =>
  (_request: unknown, done: (admission: Admission) => void): void =>
    void setImmediate(() => done(admission));

async function start(options: Parameters<typeof startProxy>[1]) {
  const reached: string[] = [];
  const { url } = await startUpstream((request, response) => {
    reached.push(request.url!);
    request.resume().on('end', () => response.end('ok'));
  });
  return { reached, ...(await startProxy(url, options)) };
}

describe.each([
  ['at once', (_request: unknown, done: (admission: Admission) => void) => done(REFUSAL)],
  ['later', later(REFUSAL)],
])('refused %s', (_case, admit) => {
  it('gets the answer of admission, and is not forwarded', async () => {
    const { port, reached, scrape } = await start({ admit });
    const answer = await send(port, { headers: { 'X-Request-Id': 'mine-1' } });
    expect(answer).toMatchObject({ status: 429, body: (REFUSAL as { body: string }).body });
    expect(answer.headers).toMatchObject({ 'retry-after': '1', 'content-type': 'application/problem+json', 'x-request-id': 'mine-1' });
    expect(reached).toEqual([]);
    expect(await scrape()).toContain('tollgate_requests_total{outcome="refused",status_class="4xx"} 1');
  });

  it('goes on on the same connection, with and without a small body', async () => {
    const { port } = await start({ admit });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const body of ['', '{"amount":1}', 'x'.repeat(60_000), '']) {
      const answer = await send(port, { method: 'POST', agent, headers: { 'Content-Length': body.length }, body });
      expect(answer).toMatchObject({ status: 429, headers: { connection: 'keep-alive' } });
    }
    expect(Object.values(agent.freeSockets).flat().length).toBe(1);
    agent.destroy();
  });

  it('does not wait for a large body, and closes the connection', async () => {
    const { port } = await start({ admit });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: x', 'Content-Length: 100000000', '', 'x');
    const answer = await client.until('"status":429}');
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    // The client goes on sending for a while and still reads its answer; then it is cut off.
    const sending = setInterval(() => client.socket.write('x'.repeat(65_536)), 1);
    await client.closed;
    clearInterval(sending);
    expect(client.statuses).toEqual([429]);
  });

  it('does not wait for a small body that does not come', async () => {
    const { port } = await start({ admit });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: x', 'Content-Length: 10', '', 'x');
    await client.until('"status":429}');
    await client.closed;
  });

  it('with Expect: 100-continue is refused without an invitation to send', async () => {
    const { port } = await start({ admit });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: x', 'Expect: 100-continue', 'Content-Length: 10', '', '');
    await client.closed;
    expect(client.statuses).toEqual([429]);
    expect(client.received).toMatch(/\r\nConnection: close\r\n/);
  });
});

it.each([10, 100_000])('admitted with Expect: 100-continue, %i bytes are invited and forwarded', async (length) => {
  const expects: unknown[] = [];
  const { url } = await startUpstream((request, response) => {
    let bytes = 0;
    expects.push(request.headers.expect);
    request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => response.end(`<${bytes}>`));
  });
  const { port } = await startProxy(url, { admit: later(FORWARD) });
  const client = await RawClient.open(port);
  client.write('POST / HTTP/1.1', 'Host: x', 'Expect: 100-continue', `Content-Length: ${length}`, '', '');
  await client.until('100 Continue');
  client.write('x'.repeat(length));
  await client.until(`<${length}>`);
  expect(client.statuses).toEqual([100, 200]);
  expect(expects).toEqual([undefined]);
});

it('after a refusal that closes the connection, nothing that follows is looked at', async () => {
  const { port, asked } = await start({ admit: (_request, done) => done(REFUSAL) });
  const client = await RawClient.open(port);
  client.write(`POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}GET /2 HTTP/1.1\r\nHost: x\r\n\r\n`);
  await client.closed;
  expect(client.statuses).toEqual([429]);
  expect(asked.map(({ target }) => target)).toEqual(['/1']);
});

it.each([
  ['a refusal', { forward: false, status: 429, headers: ['X-Bad', 'a\nb'], body: '{}' }, 500],
  ['a header to add', { forward: true, responseHeaders: ['X-Bad', 'a\nb'] }, 502],
] as const)('%s that cannot be sent is answered as a failure', async (_case, admission, status) => {
  const { port, metrics } = await start({ admit: later(admission) });
  expect((await send(port)).status).toBe(status);
  expect(metrics.inFlight).toBe(0);
});

it('pipelined, each request has its own answer', async () => {
  let asked = 0;
  const { port } = await start({ admit: (_request, done) => setImmediate(done, asked++ % 2 === 0 ? FORWARD : REFUSAL) });
  const client = await RawClient.open(port);
  client.write(
    'GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /3 HTTP/1.1\r\nHost: x\r\n\r\n',
  );
  await until(() => client.statuses.length === 3);
  expect(client.statuses).toEqual([200, 429, 200]);
});

it('a refusal beyond ASCII arrives as UTF-8', async () => {
  const body = '{"title":"Zu viele Anfragen für „Käse“"}';
  const { port } = await start({ admit: (_request, done) => done({ forward: false, status: 403, headers: [], body }) });
  expect((await send(port)).body).toBe(body);
});

it('what the gateway answers by itself looks as it is configured to, on refusals and on faults of a request alike', async () => {
  const present = createPresent({ body: compileTemplate('{"sorry":"{{status}}"}', 'json'), html: 'built-in', origins: [] })!;
  const { port } = await start({ admit: (_request, done) => done(REFUSAL), present });
  const refused = await send(port, {});
  expect(refused).toMatchObject({
    status: 429,
    body: '{"sorry":429}',
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
  });
  const page = await send(port, { headers: { Accept: 'text/html' } });
  expect(page).toMatchObject({ status: 429, headers: { 'content-type': 'text/html; charset=utf-8', vary: 'Accept' } });
  expect(page.body).toContain('<h1>Too Many Requests</h1>');
  expect(await send(port, { path: '/a/..%2fb' })).toMatchObject({ status: 400, body: '{"sorry":400}' });
});
