/** Two merchants to try the system with, written through the Rules API as an administrator would. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMain } from '../paths.mjs';

const MERCHANTS = [
  {
    merchant: { id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin' },
    rule: {
      name: 'transactions',
      layer: 'merchant',
      priority: 100,
      enabled: true,
      mode: 'enforce',
      match: { methods: [], paths: ['/transactions/**'] },
      key: ['merchant'],
      limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }],
      cost: 1,
      onStoreFailure: 'local',
    },
  },
  {
    merchant: { id: 'globex', name: 'Globex', timeZone: 'America/New_York' },
    rule: {
      name: 'transactions',
      layer: 'merchant',
      priority: 100,
      enabled: true,
      mode: 'enforce',
      match: { methods: ['POST'], paths: ['/transactions/**'] },
      key: ['merchant'],
      limits: [
        { name: 'burst', algorithm: 'token_bucket', capacity: 100, refillTokens: 50, refillIntervalMs: 1000 },
        { name: 'hourly', algorithm: 'token_bucket', capacity: 5000, refillTokens: 5000, refillIntervalMs: 3_600_000, refill: 'interval' },
      ],
      cost: 1,
      onStoreFailure: 'closed',
    },
  },
];

const ANSWER_WITHIN_MS = 10_000;
/** How long the Rules API may say that its database is away (503); all that we write may be written twice. */
const PATIENCE_MS = 60_000;

/**
 * Creates what is missing, and leaves alone what is there: an administrator may have edited it.
 * @param {string} rulesApi its address
 * @param {string} token
 * @returns {Promise<{ created: string[], acmeRuleId: string | undefined }>} the merchants that were not there before, and a rule to edit
 */
export async function seed(rulesApi, token) {
  const created = [];
  let acmeRuleId;
  for (const each of MERCHANTS) {
    const { created: isNew, ruleId } = await provide(rulesApi, token, each).catch((/** @type {Error} */ error) => {
      throw new Error(`The demo merchants could not be written: ${error.message}`);
    });
    if (isNew) created.push(each.merchant.id);
    if (each.merchant.id === 'acme') acmeRuleId = ruleId;
  }
  return { created, acmeRuleId };
}

/**
 * One merchant with a rule; what is there of it is left alone.
 * @param {string} rulesApi
 * @param {string} token
 * @param {{ merchant: { id: string, name: string, timeZone: string }, rule: object }} wanted
 * @returns {Promise<{ created: boolean, ruleId: string | undefined }>} whether the merchant was not there before, and its first rule
 */
export async function provide(rulesApi, token, { merchant, rule }) {
  const { code } = await call(rulesApi, token, 'GET', `/v1/merchants/${merchant.id}`, undefined, [200, 404]);
  if (code === 404) await call(rulesApi, token, 'POST', '/v1/merchants', merchant, [201, 409]);
  const rules = `/v1/merchants/${merchant.id}/rules`;
  const { body } = await call(rulesApi, token, 'GET', rules, undefined, [200]);
  // Where all rules were deleted, the commands that we print would show nothing.
  const ruleId = body.items?.[0]?.id ?? (await call(rulesApi, token, 'POST', rules, rule, [201, 409])).body.id;
  return { created: code === 404, ruleId };
}

/**
 * @param {string} rulesApi
 * @param {string} token
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {number[]} expected
 * @returns {Promise<{ code: number, body: any }>}
 */
async function call(rulesApi, token, method, path, body, expected) {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const endMs = Date.now() + PATIENCE_MS;
  let response = await fetch(rulesApi + path, { ...request, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  while (response.status === 503 && Date.now() < endMs) {
    await sleep(500);
    response = await fetch(rulesApi + path, { ...request, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  }
  const text = await response.text();
  if (!expected.includes(response.status)) throw new Error(`${method} ${path} was answered with ${response.status}: ${text.slice(0, 500)}`);
  return { code: response.status, body: text ? JSON.parse(text) : undefined };
}

if (isMain(import.meta.url)) {
  try {
    const { created } = await seed(process.env['RULES_API_URL'] ?? 'http://127.0.0.1:3000', process.env['TOLLGATE_ADMIN_TOKEN'] ?? '');
    console.log(created.length > 0 ? `created: ${created.join(', ')}` : 'the demo merchants are there already');
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
