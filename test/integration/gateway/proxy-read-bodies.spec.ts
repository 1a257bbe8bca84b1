import { once } from 'node:events';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { AnswerFacts, BodyFacts, UnreadableBody } from '#limiter';
import type { InboundRequest, ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';
import { FORWARD, RawClient, REFUSAL, send, startProxy, startTcpUpstream, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const KIB = 1024;
const JSON_HEADERS = { 'content-type': 'application/json' };

/** What the upstream got. */
interface Received {
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}

async function upstream() {
  const received: Received[] = [];
  const { url } = await startUpstream((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.end('ok');
    });
  });
  return { url, received };
}

/** Admits each request once its body has been read, and keeps what was read. */
function reading(read: (BodyFacts | undefined)[], decide = () => FORWARD): NonNullable<ProxyOptions['admit']> {
  return (request: InboundRequest, done) => {
    if (!request.belongsTo('acme')) return;
    request.readBody(() => {
      read.push(request.body);
      done(decide());
    });
  };
}

describe('a body that a rule looks at', () => {
  const TEXT = ' {"amount": 1.50 ,\n"amount":2} ';

  it.each([
    ['with a Content-Length', { 'content-length': TEXT.length }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['of a suffix of JSON', { 'content-type': 'application/vnd.api+json; charset=UTF-8' }],
  ])('%s is read, and forwarded byte for byte', async (_how, headers) => {
    const { url, received } = await upstream();
    const read: BodyFacts[] = [];
    const { port } = await startProxy(url, { admit: reading(read) });
    const answer = await send(port, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: TEXT });
    expect([answer.status, received[0]!.body.toString()]).toEqual([200, TEXT]);
    expect(read[0]!.valueOf('amount')).toMatchObject([{ text: '1.5' }, { text: '2' }]);
  });

  it('of up to 64 KiB is read, also where it comes in pieces', async () => {
    const { url, received } = await upstream();
    const read: BodyFacts[] = [];
    const { port } = await startProxy(url, { admit: reading(read) });
    const body = JSON.stringify({ pad: 'x'.repeat(64 * KIB - 30), last: 'y' });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: a', 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body.slice(0, 100));
    client.write(body.slice(100, 40_000));
    client.write(body.slice(40_000));
    await client.until('ok');
    expect(read[0]!.valueOf('last')).toBe('y');
    expect(received[0]!.body.toString()).toBe(body);
  });

  it.each<[UnreadableBody, object, string | Buffer]>([
    ['too_large', JSON_HEADERS, JSON.stringify('x'.repeat(64 * KIB))],
    ['too_large', { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }, JSON.stringify('x'.repeat(300 * KIB))],
    ['broken', JSON_HEADERS, '{"amount":'],
    ['other_type', { 'content-type': 'text/plain' }, '{}'],
    ['other_type', { 'content-type': 'application/json; charset=utf-16' }, '{}'],
    ['other_type', { 'content-type': ['application/json', 'text/plain'] }, '{}'],
    ['other_type', {}, '{}'],
    ['encoded', { ...JSON_HEADERS, 'content-encoding': 'gzip' }, gzipSync('{}')],
  ])('cannot be read if it is %s, and is forwarded as it is: %j', async (unreadable, headers, body) => {
    const { url, received } = await upstream();
    const read: BodyFacts[] = [];
    const { port } = await startProxy(url, { admit: reading(read) });
    expect((await send(port, { method: 'POST', headers: { ...headers }, body })).status).toBe(200);
    expect(read).toMatchObject([{ unreadable }]);
    expect(received[0]!.body.equals(Buffer.from(body))).toBe(true);
  });

  it('is asked for once, where the client waits for that', async () => {
    const { url, received } = await upstream();
    const read: BodyFacts[] = [];
    const { port } = await startProxy(url, { admit: reading(read) });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: a', 'Content-Type: application/json', 'Content-Length: 7', 'Expect: 100-continue', '', '');
    await client.until('100 Continue');
    client.write('{"a":1}');
    await client.until('ok');
    expect([client.statuses, received[0]!.body.toString()]).toEqual([[100, 200], '{"a":1}']);
  });

  it('leaves the connection in order when its request is refused, be it read or too large', async () => {
    const { url, received } = await upstream();
    const { port } = await startProxy(url, { admit: reading([], () => REFUSAL) });
    const client = await RawClient.open(port);
    const head = ['POST / HTTP/1.1', 'Host: a', 'Content-Type: application/json'];
    client.write(...head, 'Content-Length: 2', '', '{}');
    await until(() => expect(client.statuses).toEqual([429]));
    client.write(...head, 'Transfer-Encoding: chunked', '', (100 * KIB).toString(16), 'x'.repeat(100 * KIB), '0', '', '');
    await until(() => expect(client.statuses).toEqual([429, 429]));
    await client.closed;
    expect(received).toEqual([]);
  });

  it('that comes too slowly is not waited for, and gives its memory back', async () => {
    const { url } = await upstream();
    const read: BodyFacts[] = [];
    const maxBufferedBytes = 100 * KIB;
    const { port } = await startProxy(url, { admit: reading(read), requestBodyGraceMs: 300, maxBufferedBytes });
    const client = await RawClient.open(port);
    client.write('POST / HTTP/1.1', 'Host: a', 'Content-Type: application/json', 'Transfer-Encoding: chunked', '', '1', '{', '');
    // It holds 64 KiB of memory, and of what is left its merchant may not have as much again.
    await until(async () => {
      const other = await send(port, { method: 'POST', headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }, body: '{}' });
      expect(other.status).toBe(503);
    });
    await client.until('408');
    expect((await send(port, { method: 'POST', headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }, body: '{}' })).status).toBe(
      200,
    );
    expect(read).toHaveLength(1);
  });

  it('is nothing for a request without one', async () => {
    const { url } = await upstream();
    const read: BodyFacts[] = [];
    const { port } = await startProxy(url, { admit: reading(read) });
    expect((await send(port, {})).status).toBe(200);
    expect(read[0]!.unreadable).toBeUndefined();
  });
});

describe('an answer for which a charge waits', () => {
  /** The answers that a reservation was told of. */
  async function watching(url: URL, readsAnswer: 'head' | 'body' = 'body') {
    const told: (AnswerFacts | undefined | 'refunded')[] = [];
    const reservation = { readsAnswer, release: (facts?: AnswerFacts) => told.push(facts), refund: () => told.push('refunded') };
    const proxy = await startProxy(url, {
      admit: (_request, done) => done({ ...FORWARD, reservations: [reservation] } as typeof FORWARD),
      headersTimeoutMs: 500,
    });
    return { ...proxy, told };
  }

  it.each<[string, string, Buffer | string, (facts: AnswerFacts) => void]>([
    ['is told', 'application/json', '{"status":"declined"}', ({ body }) => expect(body!.valueOf('status')).toBe('declined')],
    ['of another type is not read', 'text/html', '<p>', ({ body }) => expect(body!.unreadable).toBe('other_type')],
    [
      'above 64 KiB is not read',
      'application/json',
      JSON.stringify('x'.repeat(70_000)),
      ({ body }) => expect(body!.unreadable).toBe('too_large'),
    ],
  ])('%s, and passes unchanged', async (_what, type, body, expectation) => {
    const { url } = await startUpstream((_request, response) => {
      response.writeHead(402, { 'content-type': type, 'x-outcome': 'declined' });
      // In pieces, without a declared length.
      response.write(body.slice(0, 5));
      setImmediate(() => response.end(body.slice(5)));
    });
    const { port, told } = await watching(url);
    const answer = await send(port);
    expect([answer.status, answer.body]).toEqual([402, body]);
    await until(() => expect(told).toHaveLength(1));
    const facts = told[0] as AnswerFacts;
    expect([facts.head!.status, facts.head!.headerValues('x-outcome')]).toEqual([402, ['declined']]);
    expectation(facts);
  });

  it('that stands still reaches the client as far as it has come', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.writeHead(200, JSON_HEADERS);
      response.write('{"a":');
    });
    const { port, told } = await watching(url);
    const client = await RawClient.open(port);
    client.write('GET / HTTP/1.1', 'Host: a', '', '');
    await client.until('{"a":');
    client.socket.resetAndDestroy();
    await until(() => expect(told).toMatchObject([{ head: { status: 200 }, body: { unreadable: 'incomplete' } }]));
  });

  it('that does not come is not known, and a request that never left is refunded', async () => {
    const silent = await startTcpUpstream(() => {});
    const first = await watching(silent.url, 'head');
    expect((await send(first.port)).status).toBe(504);
    expect(first.told).toEqual([{ head: undefined, body: undefined }]);

    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as { port: number };
    await new Promise((resolve) => nobody.close(resolve));
    const second = await watching(new URL(`http://127.0.0.1:${port}`), 'head');
    expect((await send(second.port)).status).toBe(502);
    expect(second.told).toEqual(['refunded']);
  });
});
