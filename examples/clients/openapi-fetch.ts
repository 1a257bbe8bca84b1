/**
 * The Rules API by openapi-fetch, with the types that openapi-typescript makes of its document:
 *
 *   npx openapi-typescript http://127.0.0.1:3000/openapi.json --output generated/rules-api.ts --default-non-nullable false
 *
 * Without the last option it takes a field with a default for one that must be sent.
 */
import createClient from 'openapi-fetch';
import type { paths } from './generated/rules-api.js';

/** Creates a merchant with two rules, lists them page by page, and creates the merchant once more, which is refused. */
export async function use(url: string, token: string) {
  const api = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
  const merchant = await api.POST('/v1/merchants', { body: { id: 'openapi-fetch', name: 'Acme', timeZone: 'Europe/Berlin' } });
  const path = { merchantId: merchant.data!.id };
  for (const name of ['first', 'second']) {
    await api.POST('/v1/merchants/{merchantId}/rules', {
      params: { path },
      body: {
        name,
        match: { methods: ['POST'], paths: ['/transactions/**'] },
        limits: [{ name: 'steady', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }],
      },
    });
  }
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data } = await api.GET('/v1/merchants/{merchantId}/rules', { params: { path, query: { limit: 1, cursor } } });
    for (const { name, limits } of data!.items) for (const { algorithm } of limits) names.push(`${name}: ${algorithm}`);
    if (data!.nextCursor === null) break;
    cursor = data!.nextCursor;
  }
  const { error, response } = await api.POST('/v1/merchants', { body: { id: 'openapi-fetch', name: 'Acme' } });
  return { names, status: response.status, code: error?.code };
}
