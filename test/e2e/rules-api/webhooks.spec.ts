import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ruleBody } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { type Api, ask, startRulesApi } from './api.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let api: Api;
let server: Server;
let url: string;
const received: Received[] = [];

beforeAll(async () => {
  server = createServer((request, answer) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      answer.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=of-the-receiver`;
  api = await startRulesApi({ WEBHOOK_ALLOW_PRIVATE: 'true' });
});
afterAll(async () => {
  await api.close();
  await new Promise((resolve) => void server.close(resolve));
});

const bodies = () => received.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });

describe('a webhook', () => {
  let path: string;
  let secret: string;

  it('is made, and its secret is shown once and kept nowhere', async () => {
    const made = await api.ask('POST', '/v1/webhooks', { url, events: ['rule.changed', 'approval.wanted'], labels: { team: 'risk' } });
    expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"']);
    ({ secret } = made.body as { secret: string });
    path = made.headers.get('location') ?? '';
    const { secret: _secret, ...shown } = made.body as Record<string, unknown>;
    expect((await api.ask('GET', path)).body).toEqual(shown);
    expect((await api.ask('GET', '/v1/webhooks')).body).toEqual({ items: [shown], nextCursor: null });
    const audit = JSON.stringify((await api.ask('GET', '/v1/audit')).body);
    for (const hidden of [secret, 'of-the-receiver']) {
      expect(audit).not.toContain(hidden);
      expect(JSON.stringify(api.app.logs)).not.toContain(hidden);
    }
  });

  it('is tested', async () => {
    const test = await api.ask('POST', `${path}/test`);
    expect([test.status, test.body.event]).toEqual([202, 'webhook.test']);
    const delivered = `${path}/deliveries/${test.body.id as string}`;
    await until(async () => (await api.ask('GET', delivered)).body.state === 'delivered');
    expect(bodies()).toMatchObject([{ type: 'webhook.test', data: { actor: 'admin' } }]);
    const [{ headers, body }] = received as [Received];
    const signed = `${test.body.messageId as string}.${String(headers['webhook-timestamp'])}.${body}`;
    const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(signed)
      .digest('base64');
    expect(headers).toMatchObject({ 'webhook-id': test.body.messageId as string, 'webhook-signature': `v1,${hmac}` });
  });

  it('tells of a change that waits for a second administrator, and of the change that was approved', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
    const rule = await api.ask('POST', '/v1/merchants/acme/rules', ruleBody({ labels: { protected: 'true' } }));
    const location = rule.headers.get('location') ?? '';
    const { token } = (await api.ask('POST', '/v1/tokens', { name: 'second', role: 'approver' })).body as { token: string };
    const { body: approval } = await api.ask('PATCH', location, { priority: 7 }, { 'if-match': '*', 'x-change-reason': 'OPS-17' });
    await ask(api.app.url, 'POST', `/v1/approvals/${approval.id as string}/approve`, {}, { authorization: `Bearer ${token}` });
    await until(() => received.length === 4);
    const told = new Map(bodies().map(({ type, data }) => [`${type} ${JSON.stringify(data['changes'] ?? data['approvalId'])}`, data]));
    const ruleId = rule.body.id as string;
    const change = (action: string, version: number) => `rule.changed ${JSON.stringify([{ ruleId, action, version }])}`;
    expect(told.get(change('rule.created', 1))).toMatchObject({ merchantId: 'acme', actor: 'admin' });
    expect(told.get(`approval.wanted "${approval.id as string}"`)).toMatchObject({ ruleId, actor: 'admin', reason: 'OPS-17' });
    expect(told.get(change('rule.replaced', 2))).toMatchObject({ actor: 'admin', approvedBy: 'second' });
  });

  it('lists its deliveries page by page, and sends one again by hand', async () => {
    const first = await api.ask('GET', `${path}/deliveries?limit=3`);
    expect(first.body.items).toHaveLength(3);
    const second = await api.ask('GET', `${path}/deliveries?limit=3&cursor=${first.body.nextCursor as string}`);
    expect([second.body.items.length, second.body.nextCursor]).toEqual([1, null]);
    expect((await api.ask('GET', `${path}/deliveries?state=dead`)).body.items).toEqual([]);
    const { id, messageId } = second.body.items[0] as { id: string; messageId: string };
    expect((await api.ask('POST', `${path}/deliveries/${id}/retry`, {})).status).toBe(202);
    await until(() => received.length === 5);
    expect(received.at(-1)?.headers['webhook-id']).toBe(messageId);
    expect((await api.ask('POST', `${path}/deliveries/999999/retry`, {})).body.code).toBe('webhook.delivery.not_found');
  });

  it('is changed, rotated, disabled and deleted', async () => {
    expect((await api.ask('PATCH', path, { enabled: false }, { 'if-match': '"7"' })).status).toBe(412);
    const changed = await api.ask('PATCH', path, { enabled: false }, { 'if-match': '"1"' });
    expect([changed.status, changed.body.enabled, changed.body.labels]).toEqual([200, false, { team: 'risk' }]);
    expect((await api.ask('POST', `${path}/test`, {})).body.code).toBe('webhook.disabled');
    const rotated = await api.ask('POST', `${path}/rotate`, {});
    expect(rotated.body.secret).not.toBe(secret);
    expect(rotated.body.formerSecretUntil).toMatch(/Z$/);
    expect((await api.ask('DELETE', path, undefined, { 'if-match': '*' })).status).toBe(204);
    expect((await api.ask('GET', `${path}/deliveries`)).body.code).toBe('webhook.not_found');
    const { items } = (await api.ask('GET', '/v1/audit?limit=4')).body as { items: { action: string }[] };
    expect(items.map(({ action }) => action)).toEqual(['webhook.deleted', 'webhook.rotated', 'webhook.updated', 'webhook.retried']);
  });

  it.each([
    [{ events: ['limit.90'] }, '/events/0'],
    [{ events: [] }, '/events'],
    [{ url: 'ftp://example.com/' }, '/url'],
    [{ url: 'https://user:password@example.com/' }, '/url'],
    [{ url: 'https://example.com/#x' }, '/url'],
    [{ secret: 'mine' }, '/secret'],
  ])('with %j is refused, and %s named', async (fields, pointer) => {
    const { status, body } = await api.ask('POST', '/v1/webhooks', { url, events: ['rule.changed'], ...fields });
    expect([status, (body.errors as { pointer: string }[]).map((error) => error.pointer)]).toEqual([400, [pointer]]);
  });
});
