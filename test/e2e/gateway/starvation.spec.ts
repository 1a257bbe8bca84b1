/**
 * Merchants that hold whatever they get, each in its own way, beside merchants that only want their answers. Everything runs as
 * in production: the built gateway, Redis, an upstream.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

/** Few, so that a small number of hostile requests is more than enough for all. */
const CONNECTIONS = 48;
/** What one hostile merchant sends at once. */
const HOSTILE_REQUESTS = 80;
/** Of all requests that each hostile merchant sends, far more than its limit and its share let through. */
const CONNECTIONS_EACH = 12;
/** Far below what a request would wait that is held up by hostile ones, which hold on for minutes; far above what a busy machine needs. */
const LONGEST_MS = 10_000;
/** The pace of the others: how long each waits after an answer before it asks again. */
const PAUSE_MS = 20;

let house: House;
let gateway: RunningApp;
const sockets: Socket[] = [];

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({
    STORE_TIMEOUT_MS: '5000',
    UPSTREAM_CONNECTIONS: String(CONNECTIONS),
    REQUEST_BODY_GRACE_MS: '600000',
    RESPONSE_BODY_GRACE_MS: '600000',
    MIN_BODY_BYTES_PER_SECOND: '0',
  });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  house.held.splice(0);
});
afterAll(() => house.close());

/** A connection that sends what it is told, and reads nothing. */
function hold(merchantId: string, ...lines: string[]): Socket {
  const socket = connect(gateway.ports.main, '127.0.0.1')
    .on('error', () => {})
    .pause();
  socket.write([lines[0], 'Host: x', `X-Merchant-Id: ${merchantId}`, ...lines.slice(1), '', ''].join('\r\n'));
  sockets.push(socket);
  return socket;
}

/** What a hostile merchant does with one connection; time-outs are off, so that only sharing protects the others. */
const KINDS: Record<string, (merchantId: string) => void> = {
  'never lets the upstream answer': (id) => void hold(id, 'GET /hold HTTP/1.1'),
  'trickles bodies in chunks': (id) => {
    const socket = hold(id, 'POST /transactions HTTP/1.1', 'Transfer-Encoding: chunked');
    const timer = setInterval(() => socket.write('1\r\nx\r\n'), 200);
    socket.on('close', () => clearInterval(timer));
  },
  'stops in the middle of an upload': (id) =>
    void hold(id, 'POST /transactions HTTP/1.1', 'Content-Length: 10000000').write('x'.repeat(40_000)),
  'leaves answers unread': (id) => void hold(id, 'GET /large HTTP/1.1'),
  'sends as much as it may': (id) => void hold(id, 'GET /transactions HTTP/1.1'),
};

const slotsUsed = (): Promise<number> => house.metric(gateway, /^tollgate_upstream_connections_used\b/);

/** Requests that the gateway has decided about, or has sent away before. */
const seen = (): Promise<number> => house.metric(gateway, /^tollgate_(decisions|shed)_total\{/);

/** The others: each sends so many requests, one after the other. All are answered, and soon. */
async function expectOthersServed(names: string[], requestsEach: number): Promise<void> {
  const answers: { status: number; ms: number }[] = [];
  const send = async (name: string): Promise<void> => {
    for (let i = 0; i < requestsEach; i++) {
      const { status, ms } = await house.send(gateway, name);
      answers.push({ status, ms });
      await pause(PAUSE_MS);
    }
  };
  await Promise.all(names.map(send));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LONGEST_MS);
}

async function merchants(prefix: string, count: number, capacity: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  for (const name of names) await house.write(name, [rule({ capacity, refillTokens: capacity, refillIntervalMs: 1000 })]);
  return names;
}

test.each(Object.keys(KINDS))('a merchant that %s does not keep others waiting', async (kind) => {
  const [hostile] = await merchants(`one-${Object.keys(KINDS).indexOf(kind)}-`, 1, 100);
  const others = await merchants('other-', 3, 100_000);
  const before = await seen();
  for (let i = 0; i < HOSTILE_REQUESTS; i++) KINDS[kind]!(hostile!);
  await until('the gateway has seen them all', async () => (await seen()) >= before + HOSTILE_REQUESTS);
  await expectOthersServed(others, 50);
});

test('four merchants of every kind at once do not keep others waiting, and the gateway tells of it', async () => {
  const hostile = await merchants('every-', 4 * Object.keys(KINDS).length, 20);
  const others = await merchants('quiet-', 3, 100_000);
  const attack = (): void => hostile.forEach((name, i) => Object.values(KINDS)[i % Object.keys(KINDS).length]!(name));
  for (let i = 0; i < CONNECTIONS_EACH; i++) attack();
  await until(async () => expect(await slotsUsed()).toBeGreaterThan(20));
  await expectOthersServed(others, 75);
  await until(async () => expect(await house.metric(gateway, /^tollgate_shed_total\{reason="upstream_queue"/)).toBeGreaterThan(0));
  await gateway.waitForLog(({ reason, who }) => reason === 'upstream_queue' && /^(one|every)-/.test(String(who)));
});

test('the connections to the upstream that hostile merchants held are free when they are gone', async () => {
  await until(async () => expect(await slotsUsed()).toBe(0), 20_000);
});
