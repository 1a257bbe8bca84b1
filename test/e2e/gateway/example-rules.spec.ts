import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { completed, RULE_FIELDS, type RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { ruleSpec } from '../../support/factories/rules.js';
import { inCountry, mmdb } from '../../support/mmdb.js';
import type { RunningApp } from '../../support/processes.js';
import { House } from './house.js';

const FOLDER = join(import.meta.dirname, '../../../examples/rules');

/** The rules of each example, by its number, for a merchant of its own. */
const EXAMPLES = readdirSync(FOLDER).map((file) => {
  const { merchants } = parse(readFileSync(join(FOLDER, file), 'utf8')) as { merchants: { rules: Record<string, unknown>[] }[] };
  return [`m${/^\d+/.exec(file)![0]}`, merchants[0]!.rules.map((rule) => completed(rule, RULE_FIELDS) as unknown as RuleSpec)] as const;
});

interface Charged {
  readonly path: string;
  readonly body: string;
  readonly status: number;
}

const perCountry = ruleSpec({
  match: { methods: [], paths: [], all: [{ not: { field: 'country', equals: 'DK' } }] },
  key: ['merchant', 'country'],
  limits: [burst({ capacity: 2, refillTokens: 1, refillIntervalMs: 86_400_000 })],
});

const keeping = ruleSpec({
  limits: [burst({ capacity: 10, refillTokens: 1, refillIntervalMs: 86_400_000 })],
  reserve: [{ name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 }],
});

let countries: string;
let house: House;
let gateway: RunningApp;
let processor: Server;
/** What has reached the card processor. */
const seen: Charged[] = [];

/** It declines cards that end in 0, rejects the password "wrong", and takes its time, so that requests overlap. */
function answerOf(path: string, body: string): number {
  if (path === '/login') return body.includes('"wrong"') ? 401 : 200;
  return body.includes('0"') ? 402 : 201;
}

beforeAll(async () => {
  processor = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const path = request.url!;
      const status = answerOf(path, body);
      seen.push({ path, body, status });
      setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'), 5);
    });
  });
  processor.listen(0, '127.0.0.1');
  house = await House.open();
  await house.store({ ...Object.fromEntries(EXAMPLES), abroad: [perCountry], keeping: [keeping] });
  countries = join(mkdtempSync(join(tmpdir(), 'tollgate-country-')), 'countries.mmdb');
  writeFileSync(countries, mmdb({ '192.0.2.0/24': inCountry('NO'), '2001:db8::/32': inCountry('SE') }));
  gateway = await house.gateway({
    UPSTREAM_URL: `http://127.0.0.1:${(processor.address() as AddressInfo).port}`,
    STORE_TIMEOUT_MS: '5000',
    COUNTRY_HEADER: 'x-country',
    GATEWAY_COUNTRY_FILE: countries,
  });
});
afterAll(async () => {
  await house.close();
  rmSync(dirname(countries), { recursive: true });
  processor.closeAllConnections();
  processor.close();
});

type Sent = Partial<{ path: string; headers: Record<string, string>; json: unknown; body: string }>;

async function post(merchant: string, { path = '/', headers = {}, json = {}, body = JSON.stringify(json) }: Sent) {
  return house.send(gateway, merchant, { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body });
}
const status = async (merchant: string, sent: Sent) => (await post(merchant, sent)).status;
/** One after the other. */
async function statuses(merchant: string, all: readonly Sent[]): Promise<number[]> {
  const found: number[] = [];
  for (const sent of all) found.push(await status(merchant, sent));
  return found;
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('1: accounts are counted by their source, an IPv6 /64 as one', async () => {
  const from = (ip: string) => ({ path: '/accounts', headers: { 'x-forwarded-for': ip } });
  const found = await statuses('m1', [...times(20, from('2001:db8:1:2::1')), from('2001:db8:1:2::2'), from('2001:db8:1:3::1')]);
  expect(found).toEqual([...times(20, 201), 429, 201]);
});

test('2: five failed card payments of a device never become six, with a thousand at once', async () => {
  const pay = (card: string): Sent => ({ path: '/transactions', headers: { 'x-device-id': 'phone' }, json: { card } });
  const all = await Promise.all(Array.from({ length: 1_000 }, (_, i) => status('m2', pay(i % 3 === 0 ? '4111-0' : '4111-1'))));
  const failed = () => seen.filter(({ path, status: answered }) => path === '/transactions' && answered === 402).length;
  expect(new Set(all).size).toBeGreaterThan(1);
  expect(failed()).toBeLessThanOrEqual(5);
  // What succeeded has come back, so that exactly the rest of the five may still fail.
  for (let i = 0; i < 6; i++) await status('m2', pay('4111-0'));
  expect(failed()).toBe(5);
  expect(await status('m2', pay('4111-1'))).toBe(429);
  expect(await status('m2', { ...pay('4111-1'), headers: { 'x-device-id': 'other' } })).toBe(201);
});

test('3: one risky message a day, and none that cannot be looked into', async () => {
  const message = (text: string): Sent => ({ path: '/messages', json: { text } });
  expect(await statuses('m3', ['hello', 'You won the LOTTERY', 'hello', 'wire transfer, please'].map(message))).toEqual([
    201, 201, 201, 429,
  ]);
  const refused = await post('m3', { path: '/messages', body: '{"text":"lottery"' });
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([400, { code: 'body.not_readable', field: 'body' }]);
});

test('4: ten failed logins an hour for an account, and any number that succeed', async () => {
  const login = (account: string, password: string): Sent => ({ path: '/login', json: { account, password } });
  expect(await statuses('m4', times(15, login('ann', 'right')))).toEqual(times(15, 200));
  expect(await statuses('m4', times(11, login('ann', 'wrong')))).toEqual([...times(10, 401), 429]);
  expect(await statuses('m4', [login('ann', 'right'), login('bob', 'right')])).toEqual([429, 200]);
});

test('5: $200 of purchases for an address, to the cent', async () => {
  const buy = (amount: string, email = 'a@mail.ru'): Sent => ({
    path: '/purchases',
    body: `{ "amount": ${amount}, "customer": { "email": "${email}" }, "shipping": { "geocode": "52.5,13.4" } }`,
  });
  expect(await statuses('m5', [buy('0.1'), buy('199.89'), buy('0.02'), buy('1e-2'), buy('0.01')])).toEqual([201, 201, 429, 201, 429]);
  expect(await statuses('m5', [buy('5000', 'a@example.org'), buy('-1'), buy('1e400'), buy('"12"')])).toEqual([201, 400, 400, 429]);
  expect(seen.at(-1)!.body).toBe(buy('5000', 'a@example.org').body);
});

test('6: a burst of 150', async () => {
  const beganMs = performance.now();
  const all = await Promise.all(times(200, {}).map((each) => status('m6', each)));
  const passed = all.filter((each) => each === 201).length;
  expect(passed).toBeGreaterThanOrEqual(150);
  // And what comes back while they are sent: a hundred a minute.
  expect(passed).toBeLessThanOrEqual(150 + Math.ceil(((performance.now() - beganMs) * 100) / 60_000));
});

test('7: two a second, and 9: five a minute', async () => {
  const seventh = await Promise.all(times(6, {}).map((each) => status('m7', each)));
  expect(seventh.filter((each) => each === 201).length).toBeGreaterThanOrEqual(2);
  const ninth = await Promise.all(times(40, {}).map((each) => status('m9', each)));
  expect(ninth.filter((each) => each === 201).length).toBeLessThanOrEqual(10);
  expect(ninth).toContain(429);
});

test('8: a hundred payments a minute; the tighter rule of the night is for one country', async () => {
  const all = await Promise.all(times(250, { path: '/transactions/1', headers: { 'x-country': 'SE' } }).map((each) => status('m8', each)));
  const passed = all.filter((each) => each === 201).length;
  // A minute may end while they are sent.
  expect(passed).toBeGreaterThanOrEqual(100);
  expect(passed).toBeLessThanOrEqual(200);
  expect(all.filter((each) => each === 429).length).toBe(250 - passed);
});

test('10: one bad user behind a shared address does not block the others', async () => {
  const of = (user: string): Sent => ({ headers: { 'x-user-id': user, 'x-forwarded-for': '192.0.2.1' } });
  const bad = await Promise.all(times(300, of('mallory')).map((each) => status('m10', each)));
  expect(bad.filter((each) => each === 201).length).toBeGreaterThanOrEqual(60);
  expect(bad).toContain(429);
  const others = await Promise.all(Array.from({ length: 40 }, (_, i) => status('m10', of(`user ${i % 8}`))));
  expect(others).toEqual(times(40, 201));
});

test('11: an attacker who names another’s account does not lock it out', async () => {
  const login = (account: string, ip: string, password = 'right'): Sent => ({
    path: '/login',
    headers: { 'x-forwarded-for': ip },
    json: { account, password },
  });
  const attack = (account: string) => login(account, '203.0.113.9', 'wrong');
  expect(await statuses('m11', times(7, attack('ann')))).toEqual([...times(5, 401), 429, 429]);
  expect(await statuses('m11', [login('ann', '198.51.100.7'), login('ann', '198.51.100.7')])).toEqual([200, 200]);
  // What is refused is not counted against the address, so 15 failures are left for all other accounts.
  expect(
    await statuses(
      'm11',
      Array.from({ length: 17 }, (_, i) => attack(`account ${i}`)),
    ),
  ).toEqual([...times(15, 401), 429, 429]);
  expect(await statuses('m11', [login('ann', '198.51.100.7'), login('account 1', '2001:db8::7')])).toEqual([200, 200]);
});

test('what a rule keeps for captures nobody else takes, and headers do not count it for others', async () => {
  expect(await statuses('keeping', times(9, { path: '/transactions' }))).toEqual([...times(8, 201), 429]);
  expect((await post('keeping', { path: '/transactions' })).headers).toMatchObject({
    'ratelimit-policy': '"burst";q=10;w=864000',
    ratelimit: expect.stringMatching(/^"burst";r=0;t=\d+$/) as string,
  });
  expect((await post('keeping', { path: '/transactions/7/capture' })).headers['ratelimit']).toMatch(/^"burst";r=1;t=/);
  expect(await statuses('keeping', times(2, { path: '/transactions/7/capture' }))).toEqual([201, 429]);
});

test('a rule counts by the country of the client’s address, where no header of a trusted peer says it', async () => {
  const from = (ip: string, headers = {}): Sent => ({ headers: { 'x-forwarded-for': ip, ...headers } });
  expect(await statuses('abroad', [...times(3, from('192.0.2.7')), from('2001:db8::1'), from('192.0.2.9')])).toEqual([
    201, 201, 429, 201, 429,
  ]);
  expect(
    await statuses('abroad', [from('192.0.2.7', { 'x-country': 'FI' }), ...times(3, from('192.0.2.7', { 'x-country': 'DK' }))]),
  ).toEqual(times(4, 201));
  const ready = (await (await fetch(`${gateway.managementUrl}/readyz`)).json()) as { checks: { name: string; ok: boolean }[] };
  expect(ready.checks.find(({ name }) => name === 'country_file')).toMatchObject({ ok: true });
});
