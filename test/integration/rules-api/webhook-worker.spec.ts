import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DataSource } from 'typeorm';
import { createRegistry } from '#platform';
import { MerchantRepository, RuleRepository, WebhookDeliveries, type WebhookEntity, WebhookRepository } from '#rules-db';
import { guardedAgent } from '../../../apps/rules-api/src/webhooks/sending/guarded-agent.js';
import { MAX_ATTEMPTS } from '../../../apps/rules-api/src/webhooks/sending/back-off.js';
import { Sender } from '../../../apps/rules-api/src/webhooks/sending/sender.js';
import { WebhookMetrics } from '../../../apps/rules-api/src/webhooks/sending/webhook-metrics.js';
import { ATTEMPTS_PER_WEBHOOK, WebhookWorker } from '../../../apps/rules-api/src/webhooks/sending/webhook-worker.js';
import { WebhookSecrets } from '../../../apps/rules-api/src/webhooks/webhook-secrets.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { migratedDatabase } from '../rules-db/database.js';

interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A receiver whose answers a test decides by path. */
class Receiver {
  readonly received: Received[] = [];
  readonly answers = new Map<string, (answer: ServerResponse, request: IncomingMessage) => void>();
  private readonly server: Server = createServer((request, answer) => void this.handle(request, answer));

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => void this.server.close(resolve));
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  at(path: string): Received[] {
    return this.received.filter((each) => each.path === path);
  }

  private async handle(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.received.push({ path, headers: request.headers, body });
    const act = this.answers.get(path) ?? (() => answer.writeHead(204).end());
    act(answer, request);
  }
}

describe('webhooks, from a change to its receiver', () => {
  const receiver = new Receiver();
  const secrets = new WebhookSecrets('a-secret-of-the-tests');
  const logged: Record<string, unknown>[] = [];
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let webhooks: WebhookRepository;
  let workers: WebhookWorker[] = [];
  let metrics: () => Promise<string>;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    webhooks = new WebhookRepository(dataSource);
    await new MerchantRepository(dataSource).create(merchant('acme'), BY);
    await receiver.open();
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    workers = [];
    await dataSource.query('TRUNCATE webhook, webhook_event, webhook_delivery');
    receiver.received.length = 0;
    receiver.answers.clear();
    logged.length = 0;
  });
  afterAll(async () => {
    await receiver.close();
    await close();
  });

  /** A worker of its own, as each Rules API has one. */
  function work({ timeoutMs = 5_000, retryAfterMs = 1, graceMs = 0, allowPrivate = true } = {}): WebhookWorker {
    const registry = createRegistry('rules-api');
    metrics = () => registry.metrics();
    const agent = guardedAgent({ allowPrivate });
    const log = (fields: Record<string, unknown>) => void logged.push(fields);
    const worker = new WebhookWorker({
      deliveries: new WebhookDeliveries(dataSource),
      sender: new Sender({ agent, secrets, timeoutMs, backOffMs: () => retryAfterMs }),
      metrics: new WebhookMetrics(registry),
      logger: { warn: log, info: log } as unknown as ConstructorParameters<typeof WebhookWorker>[0]['logger'],
      isReady: () => true,
      pollMs: 10,
      graceMs,
    });
    workers.push(worker);
    worker.start();
    return worker;
  }

  async function webhook(path: string, changes: Partial<WebhookEntity> = {}): Promise<{ id: string; secret: string }> {
    const { text, sealed } = secrets.make();
    const spec = { url: receiver.url(path), events: ['rule.changed'] as const, enabled: true, labels: {}, ...changes };
    return { id: (await webhooks.create(spec, sealed, BY)).id, secret: text };
  }

  let rules = 0;
  const changeARule = () => new RuleRepository(dataSource).create('acme', ruleSpec({ name: `rule ${rules++}` }), BY);
  const states = async (id: string) => (await webhooks.deliveries(id, { limit: 100 })).map(({ state }) => state);
  const signature = (secret: string, { headers, body }: Received) =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`)
      .digest('base64')}`;

  it('delivers a change to those who want to know of it, signed', async () => {
    const { id, secret } = await webhook('/wants');
    await webhook('/wants-others', { events: ['approval.wanted'] });
    await webhook('/disabled', { enabled: false });
    work();
    const { id: ruleId } = await changeARule();
    const [got] = await until(() => (receiver.at('/wants').length > 0 ? receiver.at('/wants') : null));
    expect(JSON.parse(got!.body)).toEqual({
      type: 'rule.changed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      data: {
        merchantId: 'acme',
        changes: [{ ruleId, action: 'rule.created', version: 1 }],
        actor: 'admin',
        reason: null,
        requestId: 'request-1',
      },
    });
    expect(got!.headers['webhook-signature']).toBe(signature(secret, got!));
    expect(got!.headers['content-type']).toBe('application/json');
    expect(Math.abs(Number(got!.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60);
    await until(async () => (await states(id)).join() === 'delivered');
    expect(receiver.received).toHaveLength(1);
    expect(await metrics()).toContain('tollgate_webhook_attempts_total{outcome="delivered",app="rules-api"} 1');
  });

  it('keeps nothing of a change that was not made, or that nobody wants to know of', async () => {
    const count = async () => ((await dataSource.query('SELECT count(*)::int AS n FROM webhook_event')) as [{ n: number }])[0].n;
    await changeARule();
    expect(await count()).toBe(0);
    await webhook('/wants');
    const same = ruleSpec({ name: `rule ${rules - 1}` });
    await expect(new RuleRepository(dataSource).create('acme', same, BY)).rejects.toThrow(/already/);
    expect(await count()).toBe(0);
  });

  it('sends again what fails, with the same id, and by both secrets after a rotation', async () => {
    const { id, secret } = await webhook('/fails');
    const next = secrets.make();
    await webhooks.rotate(id, next.sealed, 60_000, BY);
    receiver.answers.set(
      '/fails',
      (answer) => void answer.writeHead(receiver.at('/fails').length < 3 ? 500 : 200).end('x'.repeat(100_000)),
    );
    work();
    await changeARule();
    await until(async () => (await states(id)).join() === 'delivered');
    const all = receiver.at('/fails');
    expect(all).toHaveLength(3);
    expect(new Set(all.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const each of all) expect(each.headers['webhook-signature']).toBe(`${signature(next.text, each)} ${signature(secret, each)}`);
  });

  it('follows no redirect', async () => {
    const { id } = await webhook('/moved');
    receiver.answers.set('/moved', (answer) => void answer.writeHead(307, { location: receiver.url('/elsewhere') }).end());
    work({ retryAfterMs: 60_000 });
    await changeARule();
    await until(async () => (await webhooks.deliveries(id, { limit: 1 }))[0]?.lastStatus === 307);
    expect(receiver.at('/elsewhere')).toEqual([]);
  });

  it('gives up after the last attempt, says so once without a secret, and begins anew by hand', async () => {
    const { id } = await webhook('/gone?token=hidden');
    receiver.answers.set('/gone?token=hidden', (answer) => void answer.writeHead(410).end());
    work();
    await changeARule();
    await until(async () => (await states(id)).join() === 'dead');
    const [dead] = await webhooks.deliveries(id, { state: 'dead', limit: 10 });
    expect(dead).toMatchObject({ attempts: MAX_ATTEMPTS, lastStatus: 410, lastError: 'the receiver answered with status 410' });
    expect(receiver.received).toHaveLength(MAX_ATTEMPTS);
    await until(() => logged.length > 0);
    expect(logged).toEqual([expect.objectContaining({ webhookId: id, deliveryId: dead!.id, event: 'rule.changed', status: 410 })]);
    expect(JSON.stringify(logged)).not.toContain('hidden');
    receiver.answers.clear();
    expect(await webhooks.retry(id, dead!.id, BY)).toMatchObject({ state: 'pending', attempts: 0 });
    await until(async () => (await states(id)).join() === 'delivered');
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([dead!.messageId]));
  });

  it('does not let a receiver that never answers hold up another, nor have more than a few attempts', async () => {
    const silent = await webhook('/silent');
    receiver.answers.set('/silent', () => undefined);
    work();
    for (let i = 0; i < ATTEMPTS_PER_WEBHOOK + 3; i++) await changeARule();
    const { id } = await webhook('/quick');
    await until(() => receiver.at('/silent').length === ATTEMPTS_PER_WEBHOOK);
    await changeARule();
    await until(async () => (await states(id)).includes('delivered'));
    expect(receiver.at('/silent')).toHaveLength(ATTEMPTS_PER_WEBHOOK);
    expect(new Set(await states(silent.id))).toEqual(new Set(['pending']));
  });

  it('waits no longer than its deadline, for an answer or for the end of one', async () => {
    const [silent, endless] = [await webhook('/silent'), await webhook('/endless')];
    receiver.answers.set('/silent', () => undefined);
    receiver.answers.set('/endless', (answer) => void answer.writeHead(200).write('x'));
    work({ timeoutMs: 200, retryAfterMs: 60_000 });
    await changeARule();
    await until(async () => (await webhooks.deliveries(silent.id, { limit: 1 }))[0]?.lastError === 'no answer within 200 ms');
    await until(async () => (await states(endless.id)).join() === 'delivered');
  });

  it('sends nothing to an address that is not public', async () => {
    const { id } = await webhook('/inside');
    work({ allowPrivate: false, retryAfterMs: 60_000 });
    await changeARule();
    await until(async () => (await webhooks.deliveries(id, { limit: 1 }))[0]?.lastError === 'the receiver has no public address');
    expect(receiver.received).toEqual([]);
  });

  it('says of a secret that was encrypted with another key that it cannot be read', async () => {
    const { sealed } = new WebhookSecrets('another-secret-of-the-tests').make();
    const { id } = await webhooks.create({ url: receiver.url('/'), events: ['rule.changed'], enabled: true, labels: {} }, sealed, BY);
    work({ retryAfterMs: 60_000 });
    await changeARule();
    await until(async () => (await webhooks.deliveries(id, { limit: 1 }))[0]?.lastError?.includes('TOKEN_HASH_KEY') ?? false);
    expect(receiver.received).toEqual([]);
  });

  it('is carried on by another process when one ends, and each event is sent by one of several', async () => {
    const { id } = await webhook('/cut');
    receiver.answers.set('/cut', () => undefined);
    const first = work();
    await changeARule();
    await until(() => receiver.at('/cut').length === 1);
    await first.stop();
    // Called off: that says nothing about the receiver.
    expect(await webhooks.deliveries(id, { limit: 1 })).toMatchObject([{ state: 'pending', attempts: 0, lastError: null }]);
    receiver.answers.clear();
    work();
    work();
    for (let i = 0; i < 10; i++) await changeARule();
    await until(async () => {
      const all = await states(id);
      return all.length === 11 && all.every((state) => state === 'delivered');
    });
    const ids = receiver.at('/cut').map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size, ids[0] === ids[1]]).toEqual([12, 11, true]);
  });

  it('keeps a bounded number of deliveries, and no event without one', async () => {
    const { id } = await webhook('/kept');
    const deliveries = new WebhookDeliveries(dataSource);
    for (let i = 0; i < 6; i++) await webhooks.test(id, (type) => type, BY);
    const all = await webhooks.deliveries(id, { limit: 10 });
    for (const { id: deliveryId } of all.slice(3))
      await deliveries.settle({ id: deliveryId, attempts: 0 }, { state: 'delivered', status: 200 });
    expect(await deliveries.trim({ finished: 2, pending: 2 })).toEqual({ givenUp: 1, isDone: true });
    expect(await states(id)).toEqual(['pending', 'pending', 'dead', 'delivered']);
    await dataSource.query(`UPDATE webhook_delivery SET finished_at = now() - interval '8 days' WHERE state <> 'pending'`);
    await deliveries.trim();
    expect(await states(id)).toEqual(['pending', 'pending', 'dead']);
    const [{ events }] = (await dataSource.query('SELECT count(*)::int AS events FROM webhook_event')) as [{ events: number }];
    expect(events).toBe(3);
  });
});
