/** A gateway of several processes is one gateway: one port, one management port, and nobody notices that one of them ends. */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'undici';
import { BUSY, PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

const TOKEN = 'management-token-of-the-tests';
const WITHIN_MS = 20_000 * PATIENCE;

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  await house.write('acme', [rule({ capacity: 20, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  await house.write('busy', [rule({ capacity: 1_000_000, refillTokens: 1_000_000 })]);
  gateway = await house.gateway({ GATEWAY_WORKERS: '2', MANAGEMENT_TOKEN: TOKEN, DRAIN_DELAY_MS: '200', STORE_TIMEOUT_MS: '2000' });
  await untilComplete();
});
afterAll(() => house.close());

const headers = { authorization: `Bearer ${TOKEN}` };

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.managementUrl}/metrics`, { headers })).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

/** Two workers serve, and a third one is warm. */
const untilComplete = () =>
  until(
    async () => expect([await metric('tollgate_workers_serving'), await metric('tollgate_workers_standing_by')]).toEqual([2, 1]),
    WITHIN_MS,
  );

/** Each on a connection of its own, so that every worker gets some. */
async function status(merchant: string): Promise<number> {
  const { statusCode, body } = await request(`${gateway.url}/transactions`, {
    method: 'POST',
    headers: { 'x-merchant-id': merchant, connection: 'close' },
    body: '{}',
  });
  await body.dump();
  return statusCode;
}

const statuses = (merchant: string, count: number) => Promise.all(Array.from({ length: count }, () => status(merchant)));
const counted = (all: readonly number[], code: number) => all.filter((each) => each === code).length;

/** The processes that a process has started, guards of its end aside. */
function workersOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => statOf(name)?.parent === pid && statOf(name)?.name.startsWith('node'))
    .map(Number);
}

function statOf(pid: string): { name: string; parent: number; startedAt: number } | undefined {
  try {
    const [, name = '', rest = ''] = /\((.*)\) \S (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
    const fields = rest.split(' ');
    return { name, parent: Number(fields[0]), startedAt: Number(fields[18]) };
  } catch {
    return undefined;
  }
}

/** One that stands by was started after it; its pid may be a smaller one, because they begin anew. */
const firstServing = () => workersOf(gateway.pid).sort((a, b) => startOf(a) - startOf(b))[0]!;
const startOf = (pid: number) => statOf(String(pid))?.startedAt ?? Infinity;
const isAlive = (pid: number) => statOf(String(pid)) !== undefined;

test('all workers take from the same buckets, and the management port counts what all of them did', async () => {
  const all = await statuses('acme', 50);
  expect([counted(all, 200), counted(all, 429)]).toEqual([20, 30]);
  expect(await metric('tollgate_decisions_total')).toBe(50);
  expect(workersOf(gateway.pid)).toHaveLength(3);
});

test('it is ready with the checks of its workers, and says how many serve', async () => {
  const answer = await fetch(`${gateway.managementUrl}/readyz`);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({
    ready: true,
    checks: [
      { name: 'rules', ok: true },
      { name: 'store', ok: true },
      { name: 'workers', ok: true, detail: '2 of 2 workers serve' },
    ],
  });
});

test('its log says which worker has written a line', async () => {
  for (const worker of [1, 2]) await gateway.waitForLog((line) => line.msg === 'gateway listens' && line['worker'] === worker);
  const byPrimary = await gateway.waitForLog((line) => line.msg === 'management listens');
  expect(byPrimary).not.toHaveProperty('worker');
});

test('one that stands by takes no request and is no gateway among gateways, until its turn comes', async () => {
  const listening = () => gateway.logs.filter(({ msg }) => msg === 'gateway listens').map(({ worker }) => worker);
  expect(listening().sort()).toEqual([1, 2]);
  await until(async () => expect(await metric('tollgate_live_gateways')).toBe(2), WITHIN_MS);
});

(BUSY ? test.skip : test)('under load a worker that is killed is replaced within a second (not judged on a busy machine)', async () => {
  const over = new AbortController();
  const seen: number[] = [];
  const clients = Array.from({ length: 8 }, async () => {
    while (!over.signal.aborted) seen.push(await status('busy').catch(() => 0));
  });
  const listened = () => gateway.logs.filter(({ msg }) => msg === 'gateway listens').length;
  const before = listened();
  const killedAtMs = Date.now();
  process.kill(firstServing(), 'SIGKILL');
  await until(() => listened() > before, WITHIN_MS).finally(() => over.abort());
  const servedAt = gateway.logs.findLast(({ msg }) => msg === 'gateway listens')!['time'] as string;
  await Promise.all(clients);
  expect(Date.parse(servedAt) - killedAtMs).toBeLessThan(1_000);
  expect(new Set(seen)).toEqual(new Set(seen.includes(0) ? [0, 200] : [200]));
  await untilComplete();
});

test('a worker that dies is replaced, and a switch of this gateway alone reaches every worker, the later ones included', async () => {
  const put = (on: boolean) =>
    fetch(`${gateway.managementUrl}/switches/kill`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ on, merchantId: 'acme' }),
    });
  expect((await fetch(`${gateway.managementUrl}/switches/kill`, { method: 'PUT', body: 'no JSON' })).status).toBe(401);
  expect((await put(true)).status).toBe(200);
  await until(async () => expect(counted(await statuses('acme', 20), 200)).toBe(20), WITHIN_MS);
  expect(await (await fetch(`${gateway.managementUrl}/switches`, { headers })).json()).toMatchObject({ on: [{ name: 'kill' }] });
  const deaths = await metric('tollgate_worker_deaths_total');
  const killed = firstServing();
  process.kill(killed, 'SIGKILL');
  await until(() => expect(isAlive(killed)).toBe(false), WITHIN_MS);
  expect(counted(await statuses('busy', 20), 200)).toBe(20);
  await untilComplete();
  expect(await metric('tollgate_worker_deaths_total')).toBe(deaths + 1);
  expect(counted(await statuses('acme', 20), 200)).toBe(20);
  expect((await put(false)).status).toBe(200);
  await until(async () => expect(counted(await statuses('acme', 20), 429)).toBe(20), WITHIN_MS);
});

test('a reload replaces all workers and loses no request', async () => {
  const before = workersOf(gateway.pid);
  const reloaded = new AbortController();
  const seen: number[] = [];
  const clients = Array.from({ length: 4 }, async () => {
    while (!reloaded.signal.aborted) seen.push(await status('busy'));
  });
  gateway.signal('SIGHUP');
  await gateway.waitForLog(({ msg }) => msg === 'reloaded', WITHIN_MS).finally(() => reloaded.abort());
  await Promise.all(clients);
  expect(new Set(seen)).toEqual(new Set([200]));
  await untilComplete();
  const after = workersOf(gateway.pid);
  expect(after).toHaveLength(3);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
});

test('one that stands by is replaced if it dies, and those that serve go on', async () => {
  const standing = Math.max(...workersOf(gateway.pid));
  process.kill(standing, 'SIGKILL');
  await until(() => expect(isAlive(standing)).toBe(false), WITHIN_MS);
  expect(await metric('tollgate_workers_serving')).toBe(2);
  await untilComplete();
});

test('workers that all cannot serve end the gateway', async () => {
  const port = String(gateway.ports.main);
  const second = await house.gateway({ GATEWAY_WORKERS: '2', GATEWAY_PORT: port }, { untilReady: false }).catch(() => undefined);
  expect(await (second?.exited ?? 1)).toBe(1);
});

test('workers end without their primary', async () => {
  const workers = workersOf(gateway.pid);
  await gateway.kill();
  await until(() => expect(workers.filter(isAlive)).toEqual([]), WITHIN_MS);
});
