/**
 * Real proxies with the configurations of `integrations/`, in front of one API: what their clients see, and what the API does. A proxy that this machine has not and
 * cannot fetch is skipped, loudly.
 */
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { burst } from '#limiter/testing';
import { obtainProxies } from '../../../scripts/services/fetch-proxies.mjs';
import { ruleSpec } from '../../support/factories/rules.js';
import type { RunningApp } from '../../support/processes.js';
import { type Program, type ProxyName, type RunningProxy, startProxy } from '../../support/proxies.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';

const TOKEN = 'a-random-token-of-this-test-0123456789';
const CAPACITY = 5;

/** A way to ask, by the port of its configuration. */
interface Way {
  readonly title: string;
  readonly proxy: ProxyName;
  readonly port: number;
  /** Whether the client gets the problem details of Tollgate. */
  readonly body?: boolean;
  /** Whether a request that passes tells the client of its limit. */
  readonly tells?: boolean;
  /** With what it refuses while Tollgate is gone. */
  readonly gone?: number;
  /** Whether its own time-out for Tollgate can be set. */
  readonly bounded?: boolean;
}

const WAYS: readonly Way[] = [
  { title: 'nginx', proxy: 'nginx', port: 8100, body: false },
  { title: 'HAProxy', proxy: 'haproxy', port: 8101 },
  { title: 'Caddy', proxy: 'caddy', port: 8102 },
  { title: 'Traefik', proxy: 'traefik', port: 8103, tells: false, gone: 500, bounded: false },
  { title: 'Envoy by its rate limit service', proxy: 'envoy', port: 10_000 },
  { title: 'Envoy by ext_authz over gRPC', proxy: 'envoy', port: 10_001 },
  { title: 'Envoy by ext_authz over HTTP', proxy: 'envoy', port: 10_002 },
];
/** Those that tell when to come again while Tollgate is gone. */
const SAY_WHEN = ['nginx', 'HAProxy', 'Caddy'];
const NAMES = [...new Set(WAYS.map(({ proxy }) => proxy))];

const programs = new Map<ProxyName, Program>();
for (const [name, found] of await obtainProxies(NAMES))
  if ('missing' in found) console.warn(`NOT TESTED: ${name}, because ${found.missing}`);
  else programs.set(name, found);
const present = [...programs.keys()];
const ways = WAYS.filter(({ proxy }) => present.includes(proxy));
const absent = WAYS.filter(({ proxy }) => !present.includes(proxy));

let house: House;
let api: RunningApp;
const proxies = new Map<ProxyName, RunningProxy>();
/** All that were started, or may yet be. */
const begun: Promise<RunningProxy>[] = [];

const DECISIONS = {
  // On a busy machine Redis is late, and no rule is to act by its onStoreFailure then.
  STORE_TIMEOUT_MS: '5000',
  DECISION_API_TOKENS: `test:${createHash('sha256').update(TOKEN).digest('hex')}`,
};

beforeAll(async () => {
  house = await House.open();
  await house.store(Object.fromEntries([BY_HEADERS, ...ways.map(({ port }) => merchantOf(port))].map((id) => [id, rules()])));
  api = await house.decisionApi(DECISIONS);
  // Open: whatever Tollgate does not refuse passes, errors included.
  await Promise.all(present.map(async (name) => proxies.set(name, await start(name, (text) => open(text).replaceAll(BRIEF, '60s')))));
});

afterAll(async () => {
  const settled = await Promise.allSettled(begun);
  await Promise.all(settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value.stop()] : [])));
  await house.close();
});

/** The time for which a proxy waits for Tollgate. Decisions take longer where a machine is busy. */
const BRIEF = /\b(?:250ms|0\.25s)\b/g;

/** In letters: ports in a configuration are replaced. */
const merchantOf = (port: number): string => `by-${[...String(port)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`;

const BY_HEADERS = 'by-headers';

/** The limits come back in a day: the number of requests that pass does not depend on time. */
function rules() {
  const of = (name: string, paths: string[], capacity: number, changes = {}) =>
    ruleSpec({
      name,
      match: { methods: [], paths },
      limits: [burst({ capacity, refillTokens: 1, refillIntervalMs: 86_400_000 })],
      onStoreFailure: 'closed',
      ...changes,
    });
  return [
    of('burst', ['/transactions'], CAPACITY),
    of('who', ['/who/**'], 1, { key: ['merchant', 'user', 'ip', 'host'] }),
    // Nothing passes.
    of('closed', ['/closed/**'], 1, { cost: 2 }),
  ];
}

/** Envoy has a listener for each way, with a merchant each. */
function start(name: ProxyName, edit: (text: string) => string): Promise<RunningProxy> {
  const { port } = house.upstream.address() as AddressInfo;
  const ports = { 8000: port, 8090: api.ports.main, 8091: api.ports.grpc! };
  const starting = startProxy(name, {
    program: programs.get(name)!,
    ports,
    edit: (text) => edit(ofMerchants(name, text)).replaceAll('REPLACE-WITH-A-TOKEN-OF-DECISION_API_TOKENS', TOKEN),
  });
  begun.push(starting);
  return starting;
}

function ofMerchants(name: ProxyName, text: string): string {
  const ports = WAYS.filter(({ proxy }) => proxy === name).map(({ port }) => port);
  const parts = text.split(/(?=^ {4}- name: (?:rate_limit_service|ext_authz_by_grpc|ext_authz_by_http)$)/m);
  const [before, listeners] = name === 'envoy' ? [parts[0]!, parts.slice(1)] : ['', parts];
  return before + listeners.map((part, i) => part.replaceAll(/\bacme\b/g, merchantOf(ports[i] ?? ports[0]!))).join('');
}

interface Answered {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A request whose path is sent as it is written. */
function send(port: number, path: string, { method = 'POST', key = 'demo-key', headers = {} as Record<string, string> } = {}) {
  return new Promise<Answered>((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      headers: { 'x-api-key': key, 'content-length': '0', ...headers },
    });
    outgoing.on('error', reject).on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text) => (body += text));
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    });
    outgoing.end();
  });
}

/** The status of what is answered to these bytes; 0 if the connection ends before it has been read, as where a proxy has not read all of them. */
function raw(port: number, bytes: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes, 'latin1'));
    // A connection may stay open for a second after its answer.
    socket.setEncoding('latin1').on('data', (chunk: string) => statusOf((text += chunk)) > 0 && socket.destroy());
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNREFUSED' ? reject(error) : resolve(statusOf(text))));
    socket.on('close', () => resolve(statusOf(text)));
  });
}

const statusOf = (text: string): number => Number(/^HTTP\/1\.1 ([2-5]\d\d)/m.exec(text)?.[1] ?? 0);

const portOf = ({ proxy, port }: Way): number => proxies.get(proxy)!.ports.get(port)!;

/** The paths with which requests have reached the API, of those that begin so. */
const received = (start: string): string[] => house.received.map(({ url }) => url!).filter((url) => url.startsWith(start));

for (const { title } of absent) test.skip(`${title}: a real one`, () => {});

// Not describe.each, which wants one at least.
for (const way of ways) describe(way.title, () => testsOf(way));

function testsOf(way: Way): void {
  const { port, body: ofTollgate = true, tells = true } = way;

  test('a burst passes up to the capacity, and the rest is refused with the headers of limits, away from the API', async () => {
    const path = `/transactions?by=${port}`;
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(portOf(way), path)));
    const passed = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect([passed.length, refused.length]).toEqual([CAPACITY, 12 - CAPACITY]);
    expect(received(path)).toHaveLength(CAPACITY);
    for (const { headers } of tells ? passed : [])
      expect(headers).toMatchObject({ ratelimit: expect.stringMatching(/^"burst";r=\d;t=\d+$/) });
    for (const { headers, body } of refused) {
      expect(headers).toMatchObject({
        'retry-after': expect.stringMatching(/^\d+$/),
        ratelimit: expect.stringMatching(/^"burst";r=0;t=\d+$/),
        'ratelimit-policy': expect.stringMatching(/^"burst";q=5;w=\d+$/),
        'content-type': 'application/problem+json',
      });
      expect(JSON.parse(body)).toMatchObject({ status: 429, ...(ofTollgate && { code: 'quota.exceeded' }) });
    }
  });

  test('nobody is another merchant, user, address or host than the proxy says, and no other request', async () => {
    const ask = (headers: Record<string, string> = {}) => send(portOf(way), `/who/${port}`, { headers });
    expect((await ask()).status).toBe(200);
    const forged = {
      'x-merchant-id': 'nobody',
      'x-user-id': 'ann',
      'x-forwarded-for': '192.0.2.7',
      'x-real-ip': '192.0.2.7',
      'x-forwarded-host': 'other.example',
      'x-original-host': 'other.example',
      'x-forwarded-method': 'GET',
      'x-forwarded-uri': '/free',
      'x-original-method': 'GET',
      'x-original-uri': '/free',
      'x-original-url': 'http://other.example/free',
      'x-tollgate-token': 'wrong',
      authorization: 'Bearer wrong',
    };
    expect((await ask(forged)).status).toBe(429);
    for (const [name, value] of Object.entries(forged)) expect([name, (await ask({ [name]: value })).status]).toEqual([name, 429]);
    expect((await send(portOf(way), `/free?by=${port}`, { headers: forged })).status).toBe(200);
    const { headers } = house.received.find(({ url }) => url === `/free?by=${port}`)!;
    expect([headers['x-merchant-id'], headers['x-user-id']]).toEqual([merchantOf(port), undefined]);
    expect(headers['x-tollgate-token']).not.toBe(TOKEN);
    for (const key of ['', 'unknown']) expect([key, (await send(portOf(way), `/free?of=${port}`, { key })).status]).toEqual([key, 401]);
    expect(received(`/free?of=${port}`)).toEqual([]);
  });

  test('no spelling of a path comes round the rule for it', async () => {
    const spellings = [
      '/closed/x',
      '/closed//x',
      '//closed/x',
      '/closed/x?y',
      '/./closed/x',
      '/open/../closed/x',
      '/open/%2e%2e/closed/x',
      '/%63losed/x',
      '/closed%2fx',
    ];
    for (const path of spellings) {
      const before = house.received.length;
      const { status } = await send(portOf(way), path);
      expect([path, [400, 429].includes(status), status, house.received.length - before]).toEqual([path, true, status, 0]);
    }
  });

  test('nothing that a client sends makes Tollgate seem gone', async () => {
    const line = (target: string, method = 'GET', more = '', host = 'x') =>
      `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: demo-key\r\nConnection: close\r\n${more}\r\n`;
    const padded = (bytes: number) => line('/closed/x', 'GET', `X-Pad: ${'x'.repeat(bytes)}\r\n`);
    const many = (count: number) => line('/closed/x', 'GET', Array.from({ length: count }, (_, i) => `X-Pad-${i}: x\r\n`).join(''));
    const hostile: Record<string, string> = {
      ...Object.fromEntries(
        [4_000, 8_000, 9_000, 12_000, 14_000, 14_800, 15_200, 15_600, 16_000, 20_000, 40_000].map((bytes) => [
          `${bytes} bytes of headers`,
          padded(bytes),
        ]),
      ),
      ...Object.fromEntries(
        [4_000, 8_000, 8_100, 8_200, 9_000, 14_000, 15_600, 20_000].map((bytes) => [
          `${bytes} bytes of query`,
          line(`/closed/x?${'x'.repeat(bytes)}`),
        ]),
      ),
      ...Object.fromEntries([80, 90, 95, 100, 120].map((count) => [`${count} headers`, many(count)])),
      'a method of its own': line('/closed/x', 'FROB'),
      'a long method': line('/closed/x', 'X'.repeat(40)),
      'a method in small letters': line('/closed/x', 'get'),
      'a byte that is no ASCII': line('/closed/x\xff'),
      'characters that are not for paths': line('/closed/x|"<>'),
      'half of an escape': line('/closed/%'),
      'a zero': line('/closed/%00'),
      'the whole of an address': line('http://x/closed/x'),
      'a host with strange characters': line('/closed/x', 'GET', '', 'x/../y'),
      'an empty host': line('/closed/x', 'GET', '', ''),
      'two hosts': line('/closed/x', 'GET', 'Host: y\r\n'),
      'bytes that are no UTF-8': line('/closed/x', 'GET', 'X-Odd: \xff\xfe\r\nCookie: \xc3\r\n'),
      'a connection of the headers that the proxy sets': line(
        '/closed/x',
        'GET',
        'Connection: x-merchant-id, x-forwarded-uri, x-tollgate-token\r\n',
      ),
      'an upgrade': line(
        '/closed/x',
        'GET',
        'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n',
      ),
      'a client that waits for 100': line('/closed/x', 'POST', 'Expect: 100-continue\r\nContent-Length: 3\r\n') + 'abc',
      'a body in chunks': line('/closed/x', 'POST', 'Transfer-Encoding: chunked\r\n') + '3\r\nabc\r\n0\r\n\r\n',
      'a request id that is none': line('/closed/x', 'GET', 'X-Request-Id: a b;c\r\n'),
      'two addresses': line('/closed/x', 'GET', 'X-Forwarded-For: a\r\nX-Forwarded-For: b\r\nForwarded: for=x\r\n'),
    };
    const before = house.received.length;
    const answers: Record<string, number> = {};
    for (const [what, bytes] of Object.entries(hostile)) answers[what] = await raw(portOf(way), bytes);
    expect(Object.entries(answers).filter(([, status]) => status !== 0 && !(status >= 400 && status < 500))).toEqual([]);
    expect(house.received.slice(before).map(({ url, method }) => `${method} ${url!.slice(0, 30)}`)).toEqual([]);
    expect((await send(portOf(way), '/closed/x')).status).toBe(429);
  });
}

// For machines without one.
test('what ForwardAuth of Traefik 3 sends is understood, without a real one', async () => {
  const path = '/transactions?by=headers';
  const ask = () =>
    send(api.ports.main, '/v1/forward-auth', {
      method: 'GET',
      // As pkg/middlewares/auth/forward.go writes them, behind the headers middleware of integrations/traefik.
      headers: {
        'user-agent': 'curl/8',
        'x-merchant-id': BY_HEADERS,
        'x-tollgate-token': TOKEN,
        'x-forwarded-for': '192.0.2.7',
        'x-forwarded-host': 'api.example',
        'x-forwarded-method': 'POST',
        'x-forwarded-port': '80',
        'x-forwarded-proto': 'http',
        'x-forwarded-uri': path,
      },
    });
  const answers = await Promise.all(Array.from({ length: 7 }, ask));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(CAPACITY);
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.headers).toMatchObject({ 'retry-after': expect.any(String), ratelimit: expect.stringContaining('r=0') });
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'quota.exceeded' });
});

test('a request takes longer by what is asked, which is printed here and judged by nobody', async () => {
  const { port: direct } = house.upstream.address() as AddressInfo;
  const figures = [`directly ${await median(direct)}`];
  for (const way of ways) figures.push(`${way.title} ${await median(portOf(way))}`);
  console.info(`Milliseconds at the median, a connection for each request: ${figures.join(', ')}`);
});

async function median(port: number): Promise<string> {
  const times: number[] = [];
  for (let i = 0; i < 15; i++) {
    const startMs = performance.now();
    expect((await send(port, '/free')).status).toBe(200);
    times.push(performance.now() - startMs);
  }
  return times.sort((a, b) => a - b)[7]!.toFixed(1);
}

/** Edits a configuration as its comments say, so that requests pass while Tollgate is gone. */
function open(text: string): string {
  return (
    text
      // nginx
      .replace('# error_page 502 504 = @unlimited;', 'error_page 502 504 = @unlimited;')
      // HAProxy
      .replace(/^ *http-request return status 503 .*tollgate.*\n/m, '')
      // Caddy
      .replace(/^\t\t# (@gone|@nobody|handle @gone|handle @nobody|\t|\})/gm, '\t\t$1')
      // Envoy
      .replaceAll('failure_mode_deny: true', 'failure_mode_deny: false')
      .replaceAll('failure_mode_allow: false', 'failure_mode_allow: true')
  );
}

(ways.length > 0 ? describe : describe.skip)('Tollgate is gone', () => {
  const doors: {
    readonly title: string;
    readonly port: number;
    readonly passes: boolean;
    readonly gone: number;
    readonly bounded: boolean;
  }[] = [];

  /** What each door answers, which has reached the API. */
  async function ask(only: readonly (typeof doors)[number][], path: string) {
    return Promise.all(
      only.map(async ({ title, port, passes }) => {
        const marked = `${path}?of=${port}`;
        const { status } = await send(port, marked);
        return [title, passes, status, received(marked).length] as const;
      }),
    );
  }

  const expected = (only: readonly (typeof doors)[number][]) =>
    only.map(({ title, passes, gone }) => [title, passes, ...(passes ? [200, 1] : [gone, 0])]);

  beforeAll(async () => {
    const begin = async (name: ProxyName, passes: boolean) => {
      const proxy = await start(name, passes ? open : (text) => text);
      for (const { title, proxy: its, port, gone = 503, bounded = true } of ways)
        if (its === name) doors.push({ title, port: proxy.ports.get(port)!, passes, gone, bounded });
    };
    await Promise.all(present.flatMap((name) => (name === 'traefik' ? [begin(name, false)] : [begin(name, false), begin(name, true)])));
  });

  test('and does not answer: each proxy waits for its own time, and refuses or lets pass as it is configured', async () => {
    api.signal('SIGSTOP');
    const bounded = doors.filter((door) => door.bounded);
    expect(await ask(bounded, '/stopped')).toEqual(expected(bounded));
  });

  test('and its connections are refused: likewise', async () => {
    await api.kill();
    expect(await ask(doors, '/killed')).toEqual(expected(doors));
    for (const { title, port } of doors.filter((door) => !door.passes && SAY_WHEN.includes(door.title))) {
      const { headers, body } = await send(port, '/killed');
      const said = [headers['retry-after'], headers['content-type'], body];
      expect([title, ...said]).toEqual([title, '1', 'application/problem+json', '{"title":"Service Unavailable","status":503}']);
    }
  });

  test('and whoever has no known key is let pass by none', async () => {
    for (const { title, port, passes } of doors) {
      const marked = `/nobody?of=${port}`;
      const statuses = await Promise.all(['', 'unknown'].map(async (key) => (await send(port, marked, { key })).status));
      expect([title, passes ? statuses : [], received(marked)]).toEqual([title, passes ? [401, 401] : [], []]);
    }
  });

  test('and comes back: all of them ask again', async () => {
    const ports = { DECISION_API_PORT: String(api.ports.main), DECISION_API_GRPC_PORT: String(api.ports.grpc) };
    api = await house.decisionApi({ ...DECISIONS, ...ports });
    for (const { title, port } of doors)
      await until(`${title} asks again`, async () => (await send(port, '/closed/x')).status === 429, 30_000);
  });
});
