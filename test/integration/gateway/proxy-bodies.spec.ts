import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { send, settledValue, startProxy, startTcpUpstream, startUpstream, stopAll } from './proxy-harness.js';
import { until } from '../../support/until.js';

afterEach(stopAll);

const MIB = 1024 * 1024;
const BODY_BYTES = 100 * MIB;
/** Client, proxy and upstream share this process. */
const GROWTH_BYTES = 60 * MIB;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const BLOCK = Buffer.alloc(64 * 1024, 'tollgate');

function* blocks(bytes: number): Generator<Buffer> {
  for (let sent = 0; sent < bytes; sent += BLOCK.length) yield BLOCK;
}

const digestOf = (chunks: Iterable<Buffer>): string => {
  const hash = createHash('sha1');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
};

/** The most memory that was in use, above the start, while `work` ran. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const inUse = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const start = inUse();
  let most = start;
  const timer = setInterval(() => {
    // Chunks that have passed through are no growth.
    if (inUse() - start > GROWTH_BYTES / 2) collectGarbage();
    most = Math.max(most, inUse());
  }, 5);
  await work();
  clearInterval(timer);
  return most - start;
}

const post = (port: number, headers: Record<string, string | number> = {}): ClientRequest =>
  httpRequest({ host: '127.0.0.1', port, method: 'POST', agent: false, headers });

describe.each([
  ['with a Content-Length', { 'Content-Length': BODY_BYTES }],
  ['in chunks', {}],
])('100 MB %s', (_case, headers) => {
  it('go up whole, without growing memory', async () => {
    const { url } = await startUpstream((request, response) => {
      const hash = createHash('sha1');
      request.on('data', (chunk: Buffer) => hash.update(chunk)).on('end', () => response.end(hash.digest('hex')));
    });
    const { port } = await startProxy(url);
    let answer = '';
    const growth = await growthDuring(async () => {
      const request = post(port, headers);
      const responded = once(request, 'response');
      await pipeline(Readable.from(blocks(BODY_BYTES)), request);
      const [response] = (await responded) as [IncomingMessage];
      for await (const chunk of response) answer += String(chunk);
    });
    expect(answer).toBe(digestOf(blocks(BODY_BYTES)));
    expect(growth).toBeLessThan(GROWTH_BYTES);
  });

  it('come down whole, without growing memory', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.writeHead(200, headers);
      void pipeline(Readable.from(blocks(BODY_BYTES)), response);
    });
    const { port } = await startProxy(url);
    const hash = createHash('sha1');
    const growth = await growthDuring(async () => {
      const request = post(port);
      request.end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      for await (const chunk of response) hash.update(chunk as Buffer);
    });
    expect(hash.digest('hex')).toBe(digestOf(blocks(BODY_BYTES)));
    expect(growth).toBeLessThan(GROWTH_BYTES);
  });
});

describe('backpressure', () => {
  /** More than all buffers of the kernel and of three HTTP stacks on the way, far less than the body. */
  const BUFFERED_BYTES = 32 * MIB;

  it('holds an upload that the upstream does not read, and lets it go on when it does', async () => {
    let incoming: IncomingMessage | undefined;
    const { url } = await startUpstream((request, response) => {
      incoming = request.pause();
      request.on('end', () => response.end('all'));
    });
    const { port } = await startProxy(url);
    const request = post(port, { 'Content-Length': BODY_BYTES });
    let taken = 0;
    const source = Readable.from(blocks(BODY_BYTES)).on('data', (chunk: Buffer) => (taken += chunk.length));
    const sent = pipeline(source, request);
    await until(() => incoming !== undefined);
    expect(await settledValue(() => taken)).toBeLessThan(BUFFERED_BYTES);
    incoming!.resume();
    await sent;
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it('holds a download that the client does not read, and lets it go on when it does', async () => {
    let produced = 0;
    const { url } = await startUpstream((_request, response) => {
      const source = Readable.from(blocks(BODY_BYTES)).on('data', (chunk: Buffer) => (produced += chunk.length));
      void pipeline(source, response);
    });
    const { port } = await startProxy(url);
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await until(() => produced > 0);
    expect(await settledValue(() => produced)).toBeLessThan(BUFFERED_BYTES);
    socket.resume();
    await once(socket, 'close');
    expect(produced).toBe(BODY_BYTES);
  });
});

it('an answer before the end of the upload reaches the client, and the connection is closed', async () => {
  const { url } = await startTcpUpstream((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig'));
  });
  const { port, metrics } = await startProxy(url);
  const request = post(port, { 'Content-Length': BODY_BYTES });
  request.on('error', () => {});
  request.write(BLOCK);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  expect([response.statusCode, response.headers.connection, body]).toEqual([413, 'close', 'big']);
  expect(metrics.inFlight).toBe(0);
  request.destroy();
});

it('an upload of more than 16 KB is seen by the upstream while it is still being sent', async () => {
  const beginning = 'first'.repeat(4_000);
  const seen: string[] = [];
  const { url } = await startUpstream((request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => seen.push(chunk));
    request.on('end', () => response.end('ok'));
  });
  const { port } = await startProxy(url);
  const request = post(port);
  request.write(beginning);
  await until(() => seen.join('') === beginning);
  request.end('second');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  expect(seen.join('')).toBe(`${beginning}second`);
});

it('a shorter upload in chunks is seen once it is whole, with its length', async () => {
  const seen: (string | undefined)[] = [];
  const { url } = await startUpstream((request, response) => {
    if (request.method === 'GET') return void response.end();
    seen.push(request.headers['content-length'], request.headers['transfer-encoding']);
    request.setEncoding('utf8').on('data', (chunk: string) => seen.push(chunk));
    request.on('end', () => response.end('ok'));
  });
  const { port, asked } = await startProxy(url);
  const request = post(port);
  request.write('first');
  await until(() => asked.length === 1);
  // Had anything of it been forwarded, it would have reached the upstream before this one.
  await send(port);
  expect(seen).toEqual([]);
  request.end('second');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  expect(seen).toEqual(['11', undefined, 'firstsecond']);
});
