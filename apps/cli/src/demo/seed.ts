/** Two merchants to try the system with, written through the Rules API as an administrator would. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMain } from '#scripts/paths.mjs';
import { RulesApi, type Request } from '../api/rules-api.js';
import { failed } from '../shared/command-error.js';
import { note, print } from '../shared/output.js';

export interface DemoMerchant {
  readonly merchant: { readonly id: string; readonly name: string; readonly timeZone: string };
  readonly rule: object;
}

const MERCHANTS: readonly DemoMerchant[] = [
  {
    merchant: { id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin' },
    rule: {
      name: 'transactions',
      match: { methods: [], paths: ['/transactions/**'] },
      limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }],
    },
  },
  {
    merchant: { id: 'globex', name: 'Globex', timeZone: 'America/New_York' },
    rule: {
      name: 'transactions',
      match: { methods: ['POST'], paths: ['/transactions/**'] },
      limits: [
        { name: 'burst', algorithm: 'token_bucket', capacity: 100, refillTokens: 50, refillIntervalMs: 1000 },
        { name: 'hourly', algorithm: 'token_bucket', capacity: 5000, refillTokens: 5000, refillIntervalMs: 3_600_000, refill: 'interval' },
      ],
      onStoreFailure: 'closed',
    },
  },
];

/** How long the Rules API may say that its database is away (503); all that we write may be written twice. */
const PATIENCE_MS = 60_000;
const RETRY_AFTER_MS = 500;

/** Creates what is missing, and leaves alone what is there: an administrator may have edited it. Names the merchants that are new, and a rule to edit. */
export async function seed(api: RulesApi): Promise<{ created: string[]; acmeRuleId: string | undefined }> {
  const created: string[] = [];
  let acmeRuleId: string | undefined;
  for (const each of MERCHANTS) {
    const { isNew, ruleId } = await provide(api, each).catch((error: Error) => {
      throw failed(`The demo merchants could not be written: ${error.message}`);
    });
    if (isNew) created.push(each.merchant.id);
    if (each.merchant.id === 'acme') acmeRuleId = ruleId;
  }
  return { created, acmeRuleId };
}

/** One merchant with a rule; what is there of it is left alone. Names its first rule. */
export async function provide(api: RulesApi, { merchant, rule }: DemoMerchant): Promise<{ isNew: boolean; ruleId: string | undefined }> {
  const { status } = await call(api, `/v1/merchants/${merchant.id}`, [200, 404]);
  if (status === 404) await call(api, '/v1/merchants', [201, 409], merchant);
  const rules = `/v1/merchants/${merchant.id}/rules`;
  const { body: page } = await call<{ items: { id: string }[] }>(api, rules, [200]);
  // Where all rules were deleted, the commands that we print would show nothing.
  const ruleId = page.items[0]?.id ?? (await call<{ id?: string }>(api, rules, [201, 409], rule)).body.id;
  return { isNew: status === 404, ruleId };
}

/** Reads, or posts a body. */
async function call<T>(api: RulesApi, path: string, expected: readonly number[], body?: object): Promise<{ status: number; body: T }> {
  const request: Request = body === undefined ? {} : { method: 'POST', body };
  let answer = await api.send(path, request);
  for (const endMs = Date.now() + PATIENCE_MS; answer.status === 503 && Date.now() < endMs; answer = await api.send(path, request)) {
    await sleep(RETRY_AFTER_MS);
  }
  const text = await answer.text();
  const { status } = answer;
  if (!expected.includes(status)) throw failed(`${request.method ?? 'GET'} ${path} was answered with ${status}: ${text.slice(0, 500)}`);
  return { status, body: (text ? JSON.parse(text) : undefined) as T };
}

if (isMain(import.meta.url)) {
  try {
    const url = process.env['RULES_API_URL'] ?? 'http://127.0.0.1:3000';
    const { created } = await seed(new RulesApi({ url, token: process.env['TOLLGATE_ADMIN_TOKEN'] ?? '' }));
    print(created.length > 0 ? `created: ${created.join(', ')}` : 'the demo merchants are there already');
  } catch (error) {
    note((error as Error).message);
    process.exitCode = 1;
  }
}
