/** The decision API as a process, beside a gateway: the same rules, the same buckets. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { burst } from '#limiter/testing';
import { ROOT } from '../../../scripts/paths.mjs';
import { makeAuthority, makeCertificate } from '../../support/certificates.js';
import { clientOf, serviceOf, unary } from '../../support/grpc-client.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { answerChecker } from '../../support/documented-answers.js';
import { listedMetrics, servedMetrics } from '../../support/metric-list.js';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';

const TOKEN = 'a-random-token-of-this-test-0123456789';
const HASH = createHash('sha256').update(TOKEN).digest('hex');

let house: House;
let gateway: RunningApp;
let api: RunningApp;
/** The example of a service with the middleware, as a process. */
let service: Awaited<ReturnType<typeof startService>> | undefined;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a document whose parts fail the test if they are not there
let document: any;
let faultsOf: ReturnType<typeof answerChecker>;

const ANY = { methods: [], paths: [] };
/** On a busy machine Redis is late, and no rule is to act by its onStoreFailure then. */
const PATIENT = { STORE_TIMEOUT_MS: '5000' };
const NOTHING_COMES_BACK = burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 86_400_000 });
const of = (changes = {}) => ruleSpec({ match: ANY, limits: [NOTHING_COMES_BACK], onStoreFailure: 'closed', ...changes });

beforeAll(async () => {
  house = await House.open();
  const charge = { on: 'response', when: { field: 'response.status', from: 400, to: 499 } } as const;
  const slots = { name: 'slots', algorithm: 'concurrency', limit: 1, slotTimeoutMs: 3_600_000 } as const;
  const quick = burst({ capacity: 1, refillTokens: 20, refillIntervalMs: 1_000 });
  const merchants = [
    'shared',
    'status',
    'claims',
    'batch',
    'batch-each',
    'never',
    'forwarded',
    'repeated',
    'many',
    'peek',
    'by-grpc',
    'shop',
    'in-process',
    'examples',
  ];
  await house.store({
    ...Object.fromEntries(merchants.map((id) => [id, [of()]])),
    charged: [of({ charge })],
    slots: [of({ limits: [slots] })],
    quick: [of({ limits: [quick] })],
    bodied: [
      of({
        match: { ...ANY, all: [{ field: 'body.amount', atLeast: 100 }] },
        onUnreadableBody: 'refuse',
        limits: [{ ...NOTHING_COMES_BACK, capacity: 1 }],
      }),
    ],
  });
  [gateway, api, service] = await Promise.all([
    house.gateway(PATIENT),
    house.decisionApi({ ...PATIENT, DECISION_API_TOKENS: `test:${HASH}` }),
    startService(),
  ]);
  document = await (await fetch(`${api.url}/openapi.json`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
  faultsOf = answerChecker(document);
});

afterAll(async () => {
  await service?.ended();
  await house.close();
});

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- what a server has answered: a field that is not there fails the test
  readonly body: any;
}

/** What is answered is what the OpenAPI document says. */
async function call(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await fetch(api.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  const answered = { status: response.status, headers: response.headers, body: await response.json() };
  expect(faultsOf({ path, contentType: response.headers.get('content-type'), ...answered })).toEqual([]);
  return answered;
}

const check = (merchant: string, more = {}) => call('/v1/check', { merchant, method: 'POST', path: '/transactions', ...more });

test('a merchant has one budget, whichever door its requests came through', async () => {
  expect((await house.send(gateway, 'shared', { method: 'POST' })).status).toBe(200);
  expect((await check('shared')).body).toMatchObject({
    allowed: true,
    reason: 'allowed',
    limit: 3,
    remaining: 1,
    ruleName: 'card payments',
  });
  expect((await house.send(gateway, 'shared', { method: 'POST' })).status).toBe(200);
  const { status, body } = await check('shared');
  expect([status, body.allowed, body.reason, body.status]).toEqual([200, false, 'over_limit', 429]);
  expect(body.limits).toEqual([expect.objectContaining({ name: 'burst', allowed: false, remaining: 0 })]);
});

test('a service with the middleware takes from the same budget, and ends by itself', async () => {
  const ask = () => fetch(`${service!.url}/transactions`, { method: 'POST', headers: { 'X-Merchant-Id': 'in-process' } });
  expect((await house.send(gateway, 'in-process', { method: 'POST' })).status).toBe(200);
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  const refused = await ask();
  const atGateway = await house.send(gateway, 'in-process', { method: 'POST' });
  expect([refused.status, atGateway.status]).toEqual([429, 429]);
  for (const name of ['ratelimit-policy', 'content-type']) expect(refused.headers.get(name)).toBe(atGateway.headers[name]);
  const { requestId: _, detail: __, ...problem } = (await refused.json()) as Record<string, unknown>;
  expect(JSON.parse(atGateway.body)).toMatchObject(problem);
  expect((await fetch(`${service!.url}/readyz`)).status).toBe(200);
  expect(await service!.ended()).toEqual([0, null]);
});

async function startService() {
  const env = { ...process.env, REDIS_URL: house.redisServer.url, DATABASE_URL: house.database.url, PORT: '0', ...PATIENT };
  const child = spawn(process.execPath, [join(ROOT, 'integrations/express/server.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const port = await until('the service listens', () => /^listens on (\d+)$/m.exec(said)?.[1] ?? null, 60_000);
  return { url: `http://127.0.0.1:${port}`, ended: () => (child.kill('SIGTERM'), exited) };
}

test('with asStatus a refusal is what a gateway answers', async () => {
  for (let i = 0; i < 3; i++) expect((await call('/v1/check?asStatus=true', { merchant: 'status' })).status).toBe(200);
  const refused = await call('/v1/check?asStatus=true', { merchant: 'status' });
  const atGateway = await house.send(gateway, 'status');
  expect(refused.status).toBe(429);
  const { detail: _said, ...shown } = document.paths['/v1/check'].post.responses[429].content['application/problem+json'].example;
  expect(refused.body).toMatchObject(shown as object);
  for (const name of ['ratelimit-policy', 'content-type']) expect(refused.headers.get(name)).toBe(atGateway.headers[name]);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  const { requestId: _, detail: __, ...problem } = refused.body;
  expect(JSON.parse(atGateway.body)).toMatchObject(problem);
  expect((await call('/v1/check?asStatus=true', { merchant: 'nobody' })).status).toBe(403);
});

test('the examples of the document are answered as it says', async () => {
  const exampleOf = (path: string) => document.paths[path].post.requestBody.content['application/json'].example;
  const answerOf = (path: string) => Object.keys(document.paths[path].post.responses[200].content['application/json'].example as object);
  const asked = await call('/v1/check', { ...exampleOf('/v1/check'), merchant: 'examples' });
  expect(Object.keys(asked.body as object).sort()).toEqual(answerOf('/v1/check').sort());
  const { claim } = asked.body as { claim: string };
  const settled = await call('/v1/settle', { ...exampleOf('/v1/settle'), claim });
  expect([settled.status, Object.keys(settled.body as object)]).toEqual([200, answerOf('/v1/settle')]);
  const { mode, checks } = exampleOf('/v1/check/batch');
  const batch = await call('/v1/check/batch', { mode, checks: [{ ...checks[0], merchant: 'examples' }] });
  expect(batch.body).toMatchObject({ mode: 'all', allowed: true, decisions: [{ reason: 'allowed' }] });
  expect((await fetch(`${api.url}/openapi.json`)).status).toBe(401);
});

test('a claim is refunded once, and a later look finds the tokens', async () => {
  const { body } = await check('claims', { wantClaim: true });
  expect(body.claim).toMatch(/^[A-Za-z0-9_-]{22}$/);
  expect((await call('/v1/refund', { claim: body.claim })).body).toEqual({ outcome: 'refunded', given: 1, edited: 0 });
  expect((await call('/v1/refund', { claim: body.claim })).body).toEqual({ outcome: 'ended_before', as: 'refunded' });
  expect((await call('/v1/refund', { claim: 'x'.repeat(22) })).body).toEqual({ outcome: 'not_found' });
  expect((await check('claims', { cost: 0 })).body.remaining).toBe(3);
});

test('a rule that charges on response is charged by what the settlement says', async () => {
  const [failed, passed] = [await check('charged', { wantClaim: true }), await check('charged', { wantClaim: true })];
  const settle = (claim: string, status: number) => call('/v1/settle', { claim, response: { status } });
  expect((await settle(failed.body.claim, 402)).body).toEqual({ outcome: 'settled', given: 0, edited: 0 });
  expect((await settle(passed.body.claim, 201)).body).toEqual({ outcome: 'settled', given: 1, edited: 0 });
  expect((await check('charged', { cost: 0 })).body.remaining).toBe(2);
});

test('a slot is held by the claim until it is settled', async () => {
  const { body } = await check('slots', { wantClaim: true });
  expect((await check('slots')).body.allowed).toBe(false);
  expect((await call('/v1/settle', { claim: body.claim })).body).toMatchObject({ outcome: 'settled', given: 1 });
  expect((await check('slots')).body.allowed).toBe(true);
});

test('a check asks for as many requests as its cost says, and for none at 0', async () => {
  expect((await check('many', { cost: 2 })).body).toMatchObject({ allowed: true, remaining: 1 });
  expect((await check('many', { cost: 2 })).body).toMatchObject({ allowed: false, remaining: 1 });
  expect((await check('many', { cost: 1_000_000_000 })).body).toMatchObject({
    allowed: false,
    reason: 'cost_exceeds_capacity',
    retryAfterMs: 'never',
  });
  expect((await check('many', { cost: 0 })).body).toMatchObject({ allowed: true, remaining: 1 });
});

test('a batch passes as a whole or takes nothing, or each of it is decided about for itself', async () => {
  const checks = (merchant: string, count: number) => Array.from({ length: count }, () => ({ merchant }));
  const all = await call('/v1/check/batch', { mode: 'all', checks: checks('batch', 4) });
  expect(all.body.allowed).toBe(false);
  expect(all.body.decisions).toHaveLength(4);
  // What was given back is on its way.
  await until(async () => (await check('batch', { cost: 0 })).body.remaining === 3);
  expect((await call('/v1/check/batch', { mode: 'all', checks: checks('batch', 3) })).body.allowed).toBe(true);
  const each = await call('/v1/check/batch', { mode: 'each', checks: checks('batch-each', 4) });
  expect(each.body.decisions.map(({ allowed }: { allowed: boolean }) => allowed).sort()).toEqual([false, true, true, true]);
});

test('a call waits for tokens that come in time, and not for those that do not', async () => {
  expect((await check('quick')).body.allowed).toBe(true);
  expect((await call('/v1/wait', { merchant: 'quick', maxWaitMs: 20_000 })).body).toMatchObject({ allowed: true });
  for (let i = 0; i < 3; i++) await check('never');
  expect((await call('/v1/wait', { merchant: 'never', maxWaitMs: 20_000 })).body).toMatchObject({ allowed: false, reason: 'over_limit' });
});

test('a proxy asks by a sub-request, and is answered as its client is to be', async () => {
  const ask = (headers: Record<string, string>) =>
    fetch(`${api.url}/v1/forward-auth?x=1`, { headers: { 'x-tollgate-token': TOKEN, 'x-merchant-id': 'forwarded', ...headers } });
  const forwarded = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/transactions?x=1' };
  for (let i = 0; i < 3; i++) expect([(await ask(forwarded)).status, i]).toEqual([200, i]);
  const refused = await ask(forwarded);
  expect([refused.status, refused.headers.get('ratelimit')]).toEqual([429, expect.stringContaining('"burst";r=0')]);
  expect((await ask({ ...forwarded, 'x-forwarded-uri': '/a/../b' })).status).toBe(400);
  expect((await ask({ 'x-forwarded-uri': '/a' })).status).toBe(400);
});

test('Envoy asks by HTTP below a prefix, and the request is the one that it repeats there', async () => {
  const ask = (path: string, method = 'POST') =>
    fetch(`${api.url}/v1/ext-authz${path}`, {
      method,
      headers: { 'x-tollgate-token': TOKEN, 'x-merchant-id': 'repeated', 'x-forwarded-uri': '/a' },
    });
  for (let i = 0; i < 3; i++) expect([(await ask('/transactions?x=1')).status, i]).toEqual([200, i]);
  const refused = await ask('/transactions?x=1');
  expect([refused.status, refused.headers.get('ratelimit')]).toEqual([429, expect.stringContaining('"burst";r=0')]);
  expect(await refused.json()).toMatchObject({ code: 'quota.exceeded' });
  expect((await ask('/a%2fb', 'GET')).status).toBe(400);
  expect([(await ask('')).status, (await ask('x')).status]).toEqual([404, 404]);
  expect(await house.metric(api, /^tollgate_decision_api_calls_total\{call="\/v1\/ext-authz\/\*\*",status_class="4xx"/)).toBe(2);
});

test('rules look at the body that Envoy sends along by HTTP, and at none that it has cut off', async () => {
  const ask = async (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) => {
    const all = { 'x-tollgate-token': TOKEN, 'x-merchant-id': 'bodied', ...headers };
    return (await fetch(`${api.url}/v1/ext-authz/transactions`, { method: 'POST', headers: all, body })).status;
  };
  // The rule is for amounts from 100 on, and what it cannot read it refuses.
  expect([await ask('{"amount":99}'), await ask('{"amount":99}')]).toEqual([200, 200]);
  expect([await ask('{"amount":100}'), await ask('{"amount":100}'), await ask('{"amount":99}')]).toEqual([200, 429, 200]);
  const json = { 'content-type': 'application/json' };
  const padded = `{"amount":99,"pad":"${'x'.repeat(70_000)}"}`;
  expect([await ask('{"amount":'), await ask('{"amount":99}', { 'content-type': 'text/plain' }), await ask(padded, json)]).toEqual([
    400, 400, 400,
  ]);
  expect(await ask('{"amount":99}', { ...json, 'x-envoy-auth-partial-body': 'true' })).toBe(400);
});

test('services ask by gRPC, and Envoy as it asks envoyproxy/ratelimit, by gRPC and by JSON', async () => {
  const client = clientOf(api.ports.grpc!);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${TOKEN}`);
  const decisions = serviceOf('tollgate/v1/decision.proto', 'tollgate.v1.DecisionService');
  const request = { merchant: 'by-grpc', method: 'POST', path: '/transactions', cost: 2, wantClaim: true };
  const { claim } = await unary(client, decisions, 'Check', request, metadata);
  expect((await check('by-grpc', { cost: 2 })).body).toMatchObject({ allowed: false, remaining: 1 });
  expect(await unary(client, decisions, 'Refund', { claim }, metadata)).toEqual({ outcome: 'CLAIM_OUTCOME_REFUNDED' });
  expect((await check('by-grpc', { cost: 3 })).body).toMatchObject({ allowed: true });
  const limits = serviceOf('envoy/service/ratelimit/v3/rls.proto', 'envoy.service.ratelimit.v3.RateLimitService');
  const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
  expect(await unary(client, limits, 'ShouldRateLimit', asked, metadata)).toMatchObject({
    overallCode: 'OK',
    statuses: [{ limitRemaining: 2 }],
  });
  client.close();
  const json = await call('/json', asked);
  expect([json.status, json.body]).toEqual([
    200,
    {
      overallCode: 'OK',
      statuses: [
        {
          code: 'OK',
          currentLimit: { name: 'burst', requestsPerUnit: 3, unit: 'UNKNOWN' },
          limitRemaining: 1,
          durationUntilReset: expect.stringMatching(/s$/) as string,
        },
      ],
    },
  ]);
  const refused = await call('/json', { ...asked, hits_addend: 2 });
  expect([refused.status, refused.body.overallCode, refused.headers.get('ratelimit')]).toEqual([
    429,
    'OVER_LIMIT',
    expect.stringContaining('r=1') as string,
  ]);
  expect((await call('/json', { ...asked, domain: '' })).body.errors).toEqual([
    { pointer: '/domain', code: 'field.malformed', detail: 'must be given' },
  ]);
  const limited = (limit: object) => call('/json', { ...asked, descriptors: [{ ...asked.descriptors[0], limit }] });
  expect((await limited({ requests_per_unit: 2 })).body.errors).toEqual([
    { pointer: '/descriptors/0/limit/unit', code: 'field.malformed', detail: 'must be a unit of time, like MINUTE' },
  ]);
  expect((await limited({ requests_per_unit: 2, unit: 'DAY' })).body).toMatchObject({
    overallCode: 'OK',
    statuses: [{ code: 'OK', currentLimit: { requestsPerUnit: 2, unit: 'DAY' }, limitRemaining: 1 }],
  });
  expect((await limited({ requestsPerUnit: '2', unit: 'DAY' })).body).toMatchObject({ statuses: [{ limitRemaining: 0 }] });
  expect((await limited({ requestsPerUnit: 2, unit: 'DAY' })).status).toBe(429);
});

test('by TLS a caller is known by its certificate, and files that are replaced are used without a restart', async () => {
  const [server, next, authority] = [
    makeCertificate({ dnsNames: ['localhost'] }),
    makeCertificate({ dnsNames: ['localhost'] }),
    makeAuthority(),
  ];
  const caller = makeCertificate({ commonNames: ['envoy'], by: authority });
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-decision-api-'));
  const paths = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => join(folder, name)) as [string, string, string];
  [server.cert, server.key, authority.cert].forEach((text, i) => writeFileSync(paths[i]!, text));
  const secure = await house.decisionApi({
    ...PATIENT,
    DECISION_API_TLS_CERT: paths[0],
    DECISION_API_TLS_KEY: paths[1],
    DECISION_API_TLS_CLIENT_CA: paths[2],
    DECISION_API_TLS_CALLER_NAME: 'cn',
    DECISION_API_TLS_CALLERS: 'envoy, nginx',
  });
  const decisions = serviceOf('tollgate/v1/decision.proto', 'tollgate.v1.DecisionService');
  const ask = async (ca: string, shows?: { readonly cert: string; readonly key: string }) => {
    const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
    const ssl = credentials.createSsl(Buffer.from(ca), pem(shows?.key), pem(shows?.cert));
    const options = { 'grpc.ssl_target_name_override': 'localhost', 'grpc.use_local_subchannel_pool': 1 };
    const client = new Client(`127.0.0.1:${secure.ports.grpc!}`, ssl, options);
    const answer = await unary(client, decisions, 'Check', { merchant: 'shared', cost: 0 }, new Metadata());
    client.close();
    return answer;
  };
  expect(await ask(server.cert, caller)).toMatchObject({ allowed: true });
  expect(await ask(server.cert)).toMatchObject({ code: 16 });
  writeFileSync(paths[0], next.cert);
  writeFileSync(paths[1], next.key);
  await until(async () => expect(await ask(next.cert, caller)).toMatchObject({ allowed: true }));
  rmSync(folder, { recursive: true });
});

test('nobody without a token is answered', async () => {
  const answers = [{}, { authorization: 'Bearer wrong' }, { 'x-tollgate-token': 'wrong' }].map((headers) =>
    fetch(`${api.url}/v1/check`, { method: 'POST', headers: headers as Record<string, string>, body: '{}' }),
  );
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 401]);
});

test('what cannot be understood is answered with what is wrong, and harms nobody', async () => {
  const deep = `{"merchant":"peek","body":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
  const cases: readonly (readonly [unknown, number, string])[] = [
    ['', 400, 'body.missing'],
    ['{', 400, 'body.malformed'],
    ['[]', 400, 'body.wrong_type'],
    [Uint8Array.of(0x22, 0xff, 0x22), 400, 'body.malformed'],
    [deep, 400, 'body.nested_too_deeply'],
    [{ merchant: 'peek', pad: 'x'.repeat(300_000) }, 413, 'body.too_large'],
    [{}, 400, 'check.merchant.missing'],
    [{ merchant: 17 }, 400, 'check.merchant.wrong_type'],
    [{ merchant: 'peek', merchnt: 'x' }, 400, 'check.unknown_field'],
    [{ merchant: 'peek', ip: '999.1.1.1' }, 400, 'check.ip.malformed'],
    [{ merchant: 'peek', cost: -1 }, 400, 'check.cost.out_of_range'],
    [{ merchant: 'peek', cost: 1.5 }, 400, 'check.cost.not_whole'],
    [{ merchant: 'peek', headers: { x: { y: 1 } } }, 400, 'check.headers.malformed'],
    [{ merchant: 'peek', path: '/a/%2e%2e/b' }, 400, 'path.ambiguous'],
  ];
  for (const [body, status, code] of cases) {
    const answered = await call('/v1/check', body);
    expect([answered.status, answered.body.errors?.[0].code ?? answered.body.code]).toEqual([status, code]);
  }
  expect((await call('/v1/check', '{}', { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await call('/v1/checks', {})).status).toBe(404);
  expect((await call('/v1/check?asStatus=perhaps', {})).status).toBe(400);
  expect((await check('peek')).body).toMatchObject({ allowed: true, remaining: 2 });
});

test('docs/metrics.md lists what a decision API serves, with its types and labels', async () => {
  const served = servedMetrics(await (await fetch(`${api.managementUrl}/metrics`)).text());
  const listed = listedMetrics().filter(({ apps }) => apps.includes('decision-api'));
  expect([...served.keys()].sort()).toEqual(listed.map(({ name }) => name).sort());
  for (const { name, type, labels } of listed) {
    expect([name, served.get(name)!.type]).toEqual([name, type]);
    expect(labels).toEqual(expect.arrayContaining([...served.get(name)!.labels]));
  }
});
