/**
 * The Rules API by the functions that @hey-api/openapi-ts makes of its document:
 *
 *   npx @hey-api/openapi-ts --input http://127.0.0.1:3000/openapi.json --output generated/hey-api
 */
import { createClient } from './generated/hey-api/client/index.js';
import { createMerchant, createRule, listRules } from './generated/hey-api/index.js';

/** Creates a merchant with two rules, lists them page by page, and creates the merchant once more, which is refused. */
export async function use(url: string, token: string) {
  const client = createClient({ baseUrl: url, auth: token });
  const merchant = await createMerchant({ client, body: { id: 'hey-api', name: 'Acme', timeZone: 'Europe/Berlin' } });
  const path = { merchantId: merchant.data!.id };
  for (const name of ['first', 'second']) {
    await createRule({
      client,
      path,
      body: {
        name,
        match: { methods: ['POST'], paths: ['/transactions/**'] },
        limits: [{ name: 'steady', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }],
      },
    });
  }
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data } = await listRules({ client, path, query: { limit: 1, cursor } });
    for (const { name, limits } of data!.items) for (const { algorithm } of limits) names.push(`${name}: ${algorithm}`);
    if (data!.nextCursor === null) break;
    cursor = data!.nextCursor;
  }
  const { error, response } = await createMerchant({ client, body: { id: 'hey-api', name: 'Acme' } });
  return { names, status: response.status, code: error?.code };
}
