/** A gateway with a file of routes: what goes where, and what becomes of a change of the file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rule } from '../../support/factories/rules.js';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from './house.js';

let house: House;
let gateway: RunningApp;
let folder: string;
let file: string;
let second: Server;

const routes = (secondPort: number, paths = '/second/**') => `version: 1
upstreams:
  - { name: second, addresses: ["http://127.0.0.1:${secondPort}"] }
routes:
  - { name: second, upstream: second, paths: ["${paths}"] }
  - { name: slow, upstream: second, lane: true, requestHeaders: { set: { X-Lane: slow } } }
`;

beforeAll(async () => {
  second = createServer((request, response) => response.end(request.headers['x-lane'] ?? 'second'));
  await new Promise<void>((resolve) => second.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'routes-'));
  file = join(folder, 'routes.yaml');
  await writeFile(file, routes(portOf(second)));
  house = await House.open();
  await house.write('acme', [rule({ capacity: 1_000, refillTokens: 1_000, onStoreFailure: 'open' })]);
  const once = { capacity: 1, refillTokens: 1, refillIntervalMs: 3_600_000 };
  await house.write('laned', [rule({ ...once, id: '2', onLimit: { reroute: 'slow' } })]);
  await house.write('lost', [rule({ ...once, id: '3', onLimit: { reroute: 'nowhere' } })]);
  gateway = await house.gateway({ GATEWAY_ROUTES_FILE: file });
});
afterAll(async () => {
  await house.close();
  second.close();
  await rm(folder, { recursive: true });
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

interface Readiness {
  status: string;
  checks: { name: string; detail?: string }[];
}

test('requests go by the file, and those that no route takes to UPSTREAM_URL', async () => {
  expect((await house.send(gateway, 'acme', { path: '/second/1' })).body).toBe('second');
  expect((await house.send(gateway, 'acme', { path: '/other' })).body).toBe('{"ok":true}');
  expect(await house.metric(gateway, /^tollgate_upstream_answers_total\{.*upstream="second"/)).toBe(1);
});

test('a wrong file changes nothing, and the log, a metric and /readyz say so; a right one is taken', async () => {
  await writeFile(file, routes(portOf(second), 'second'));
  gateway.signal('SIGHUP');
  const line = await gateway.waitForLog(({ msg }) => msg === 'the routes file is wrong, the former routes stay', 30_000);
  expect(line['faults']).toEqual([expect.stringMatching(/^line 5: \/routes\/0\/paths\/0 must start with/)]);
  const answer = await fetch(`${gateway.managementUrl}/readyz`);
  const { checks } = (await answer.json()) as Readiness;
  expect(answer.status).toBe(200);
  expect(checks.find(({ name }) => name === 'routes')?.detail).toMatch(/line 5: \/routes\/0\/paths\/0 must start with/);
  expect(await house.metric(gateway, /^tollgate_routes_valid\b/)).toBe(0);
  expect((await house.send(gateway, 'acme', { path: '/second/1' })).body).toBe('second');

  await writeFile(file, routes(portOf(second), '/third/**'));
  await until(async () => expect((await house.send(gateway, 'acme', { path: '/third' })).body).toBe('second'));
  expect((await house.send(gateway, 'acme', { path: '/second/1' })).body).toBe('{"ok":true}');
  expect(await house.metric(gateway, /^tollgate_routes_valid\b/)).toBe(1);
});

test('a request over a limit goes to the lane that the rule names, marked and counted, and takes nothing', async () => {
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await house.send(gateway, 'laned'));
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [200, '{"ok":true}'],
    [200, 'slow'],
    [200, 'slow'],
  ]);
  expect(answers[0]!.headers).not.toHaveProperty('x-ratelimit-rerouted');
  expect(answers[1]!.headers).toMatchObject({ 'x-ratelimit-rerouted': 'slow', ratelimit: expect.stringMatching(/;r=0;t=/) as string });
  expect(await house.metric(gateway, /^tollgate_decisions_total\{.*reason="rerouted"/)).toBe(2);
  expect(await house.metric(gateway, /^tollgate_layer_decisions_total\{.*reason="rerouted"/)).toBe(2);
  expect(gateway.logs.some(({ msg }) => msg === 'refused')).toBe(false);
});

test('a lane that the gateway does not have makes no difference, and it says so', async () => {
  const statuses = [];
  for (let i = 0; i < 2; i++) statuses.push((await house.send(gateway, 'lost')).status);
  expect(statuses).toEqual([200, 429]);
  const line = await gateway.waitForLog(({ route }) => route === 'nowhere');
  expect(line['ruleId']).toBe('3');
  expect(await house.metric(gateway, /^tollgate_unknown_routes_total\b/)).toBe(1);
});
