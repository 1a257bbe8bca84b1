import { Body, Controller, Get, Module, NotFoundException, Param, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Health } from './health.js';
import { createHttpApp } from './http-app.js';
import { createLogger } from './logger.js';
import { ManagementModule, refusalBeforeBody } from './management.module.js';
import { createRegistry } from './metrics.js';
import { ProblemError } from './problem.js';
import { problemTypeOfStatus, problemTypeUri } from './problem-types.js';

const lines: Record<string, unknown>[] = [];
const logger = createLogger('rules-api', 'debug', { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
const health = new Health();
let postgresFails = false;
health.addCheck('postgres', () => {
  if (postgresFails) throw new Error('gone');
});

let startSlow = (): void => undefined;
let finishSlow = (): void => undefined;
const slowStarted = new Promise<void>((resolve) => (startSlow = resolve));
const slowFinished = new Promise<void>((resolve) => (finishSlow = resolve));

@Controller('things')
class ThingsController {
  @Post()
  create(@Body() body: unknown): unknown {
    logger.info('inside');
    return body;
  }

  @Get('crash')
  crash(): never {
    throw new Error('internal: password=hunter2');
  }

  @Get('missing')
  missing(): never {
    throw new NotFoundException('there is no such thing');
  }

  @Get('problem')
  problem(): never {
    throw new ProblemError({
      status: 409,
      code: 'thing.id.taken',
      detail: 'taken',
      errors: [{ pointer: '/id', code: 'thing.id.taken', detail: 'is taken' }],
      extensions: { 'violated-policies': ['daily'] },
      headers: { 'retry-after': '1' },
    });
  }

  @Get('slow')
  async slow(): Promise<object> {
    startSlow();
    await slowFinished;
    return {};
  }

  @Get(':id')
  one(@Param('id') id: string): { id: string } {
    return { id };
  }
}

const registry = createRegistry('rules-api');

@Module({ imports: [ManagementModule.register({ health, registry })], controllers: [ThingsController] })
class TestModule {}

describe('createHttpApp', () => {
  let app: NestFastifyApplication;
  let base: string;

  beforeAll(async () => {
    app = await createHttpApp(TestModule, { logger, registry, bodyLimitBytes: 1_000 });
    await app.listen(0, '127.0.0.1');
    base = await app.getUrl();
  });
  afterAll(() => app.close());

  const post = (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
    fetch(`${base}/things`, { method: 'POST', body, headers });

  async function expectProblem(answer: Response, status: number, detail: RegExp): Promise<void> {
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      type: problemTypeUri(problemTypeOfStatus(status)),
      code: expect.stringMatching(/^[a-z_]+(\.[a-z_]+)?$/) as string,
      status,
      detail: expect.stringMatching(detail) as string,
    });
  }

  it.each<[string, () => Promise<Response>, number, RegExp]>([
    ['broken JSON', () => post('{"a":'), 400, /not valid JSON/],
    ['an empty body', () => post(''), 400, /empty/],
    ['a name that stands twice', () => post('{"a":{"b":1,"b":2}}'), 400, /"b" twice/],
    ['prototype poisoning', () => post('{"__proto__":{"a":1}}'), 400, /not valid JSON/],
    ['a wrong content type', () => post('a=1', { 'content-type': 'application/x-www-form-urlencoded' }), 415, /application\/json/],
    ['plain text', () => post('a', { 'content-type': 'text/plain' }), 415, /application\/json/],
    ['a body too large', () => post(JSON.stringify('x'.repeat(2_000))), 413, /larger/],
    ['a body of 10 MB', () => post(JSON.stringify('x'.repeat(10_000_000))), 413, /larger/],
    ['an unknown path', () => fetch(`${base}/nowhere?token=hunter2`), 404, /^there is no GET \/nowhere$/],
    ['a malformed path', () => fetch(`${base}/things/%zz`), 400, /./],
    ['a path parameter beyond measure', () => fetch(`${base}/things/${'x'.repeat(3_000)}`), 414, /./],
    ['an unexpected error', () => fetch(`${base}/things/crash`), 500, /^(?!.*hunter2)/],
    ['an exception of Nest', () => fetch(`${base}/things/missing`), 404, /./],
  ])('answers %s with a problem', async (_name, request, status, detail) => expectProblem(await request(), status, detail));

  it('answers a ProblemError with its status, headers and extensions', async () => {
    const answer = await fetch(`${base}/things/problem?q=1`);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toEqual({
      type: 'http://127.0.0.1:3000/problems/conflict',
      code: 'thing.id.taken',
      title: 'Conflict',
      status: 409,
      detail: 'taken',
      instance: '/things/problem',
      errors: [{ pointer: '/id', code: 'thing.id.taken', detail: 'is taken' }],
      'violated-policies': ['daily'],
    });
  });

  it('logs an unexpected error with the request id', async () => {
    await fetch(`${base}/things/crash`, { headers: { 'x-request-id': 'crash-1' } });
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', requestId: 'crash-1', msg: 'request failed' }));
  });

  it('answers bytes that are not HTTP with a problem', async () => {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect((app.getHttpServer().address() as AddressInfo).port, '127.0.0.1', () => socket.end('what?\r\n\r\n'));
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?:.+\r\n)*Content-Type: application\/problem\+json/);
  });

  const raw = (request: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect((app.getHttpServer().address() as AddressInfo).port, '127.0.0.1', () => socket.write(request));
      let received = '';
      socket.on('data', (bytes) => (received += bytes.toString()));
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });

  it.each(['TRACE', 'OPTIONS', 'PROPFIND', 'BREW', 'Get'])('answers %s with 405 and the list of allowed methods', async (method) => {
    const text = await raw(`${method} /things/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(text).toMatch(/\r\nallow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n/i);
    expect(text).toContain('"status":405');
  });

  it.each(['HTTP/2.0', 'HTTP/0.9'])('answers a request line with %s with 505, and closes the connection', async (version) => {
    const text = await raw(`GET /things/1 ${version}\r\nHost: x\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 505 HTTP Version Not Supported\r\n/);
    expect(text).toContain('"code":"request.http_version"');
  });

  it.each<[string, () => Promise<string>]>([
    ['an answer', () => raw('GET /things/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')],
    ['a problem', () => raw('GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')],
    ['a crash', () => raw('GET /things/crash HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')],
    ['a target that cannot be read', () => raw('GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')],
    ['what is no HTTP', () => raw('\u0001\u0002\r\n\r\n')],
  ])('sends %s with headers that forbid caching, sniffing, scripts and framing', async (_what, ask) => {
    const text = (await ask()).toLowerCase();
    for (const header of [
      'x-content-type-options: nosniff',
      'cache-control: no-store',
      "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    ]) {
      expect(text).toContain(`\r\n${header}\r\n`);
    }
  });

  it.each([
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8/],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), /not valid UTF-8/],
    ['lists 33 deep', Buffer.from('['.repeat(33) + ']'.repeat(33)), /nested more than 32 levels/],
    ['objects 500 deep', Buffer.from('{"a":'.repeat(100) + '1' + '}'.repeat(100)), /nested more than 32 levels/],
  ])('refuses a body that is %s', async (_what, body, detail) => {
    await expectProblem(
      await fetch(`${base}/things`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
      400,
      detail,
    );
  });

  it.each([
    ['32 levels', '['.repeat(32) + ']'.repeat(32)],
    ['brackets in a text', JSON.stringify(['[{'.repeat(100) + '\\"['])],
    ['a name of the world', '["näme 🦊"]'],
  ])('accepts a body with %s', async (_what, body) => {
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toEqual([201, JSON.parse(body)]);
  });

  it('keeps a harmless request id and replaces any other', async () => {
    const kept = await fetch(`${base}/things/1`, { headers: { 'x-request-id': 'abc-1.2_3' } });
    expect(kept.headers.get('x-request-id')).toBe('abc-1.2_3');
    const replaced = await fetch(`${base}/things/1`, { headers: { 'x-request-id': 'a b' } });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('adds the request id to lines that a handler logs after the body was read', async () => {
    await post('{"a":1}', { 'content-type': 'application/json', 'x-request-id': 'body-1' });
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'inside', requestId: 'body-1' }));
  });

  it('accepts path parameters that are long, percent-encoded and not ASCII', async () => {
    const id = '🙂/'.repeat(40);
    const answer = await fetch(`${base}/things/${encodeURIComponent(id)}`);
    expect(await answer.json()).toEqual({ id });
  });

  it('counts requests by route pattern', async () => {
    await fetch(`${base}/things/some-id`);
    const text = await (await fetch(`${base}/metrics`)).text();
    expect(text).toMatch(
      /tollgate_http_request_duration_seconds_count\{app="rules-api",method="GET",route="\/things\/:id",status="200"\} \d/,
    );
    expect(text).not.toContain('some-id');
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('closes soon after the last answer, even if connections are kept alive', async () => {
    const closing = await createHttpApp(TestModule, { logger, registry: createRegistry('rules-api') });
    await closing.listen(0, '127.0.0.1');
    const agent = new Agent({ keepAlive: true });
    const answered = new Promise<string | undefined>((resolve, reject) => {
      const { port } = closing.getHttpServer().address() as AddressInfo;
      get({ port, path: '/things/slow', agent }, (answer) => resolve(answer.resume().headers.connection)).on('error', reject);
    });
    await slowStarted;
    const closed = closing.close();
    while (closing.getHttpServer().listening) await new Promise(setImmediate);
    finishSlow();
    expect(await answered).toBe('close');
    await closed;
    agent.destroy();
  });

  it('asks for the management token before it looks at a body, and lets probes in without', async () => {
    const managementToken = 'management-token-of-a-test';
    const guarded = await createHttpApp(TestModule, {
      logger,
      registry: createRegistry('rules-api'),
      refusal: refusalBeforeBody(managementToken),
    });
    await guarded.listen(0, '127.0.0.1');
    const url = await guarded.getUrl();
    const send = (headers: Record<string, string>) => fetch(`${url}/things`, { method: 'POST', body: '{', headers });
    await expectProblem(await send({ 'content-type': 'text/plain' }), 401, /Authorization/);
    await expectProblem(await send({ authorization: 'Bearer other' }), 401, /not a valid token/);
    await expectProblem(await send({ authorization: `Bearer ${managementToken}`, 'content-type': 'text/plain' }), 415, /application\/json/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await guarded.close();
  });

  it('answers /healthz with 200 while /readyz answers 503', async () => {
    expect((await fetch(`${base}/readyz`)).status).toBe(200);
    postgresFails = true;
    const unready = await fetch(`${base}/readyz`);
    expect(unready.status).toBe(503);
    expect(await unready.json()).toEqual({
      ready: false,
      stopping: false,
      checks: [{ name: 'postgres', ok: false, detail: 'gone' }],
    });
    expect(await (await fetch(`${base}/healthz`)).json()).toEqual({ status: 'ok' });
    postgresFails = false;
  });
});
