import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/paths.mjs';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { type Answer, type Api, emptyRulesApi } from './api.js';
import { exampleOf, mismatches, type Schema, type Schemas } from './schema.js';

interface Documented {
  operationId: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { headers?: Record<string, unknown>; content?: Record<string, { schema: Schema }> }>;
}

describe('what the OpenAPI document says', () => {
  let api: Api;
  let schemas: Schemas;
  let paths: Record<string, Record<string, Documented>>;
  let examples: Record<string, { value: object }>;
  let servers: { url: string }[];

  beforeAll(async () => {
    api = await emptyRulesApi();
    const document = (await api.ask('GET', '/openapi.json')).body as {
      components: { schemas: Schemas; examples: typeof examples };
      paths: typeof paths;
      servers: typeof servers;
    };
    ({ schemas, examples } = document.components);
    ({ paths, servers } = document);
  });

  it('is where the API listens, as a URL that a client can use as it stands', () => {
    expect(servers.map(({ url }) => url)).toEqual([api.app.url]);
  });

  function operation(method: string, template: string): Documented {
    const found = paths[template]?.[method.toLowerCase()];
    if (!found) throw new Error(`${method} ${template} is not documented`);
    return found;
  }

  /** Status, content type, headers and body of an answer are those of the document. */
  function expectDocumented(answer: Answer, method: string, template: string): void {
    const response = operation(method, template).responses[String(answer.status)];
    if (!response) throw new Error(`${method} ${template} answers ${answer.status}, which is not documented`);
    for (const name of Object.keys(response.headers ?? {})) expect([name, answer.headers.get(name)]).toEqual([name, expect.any(String)]);
    const [mediaType, content] = Object.entries(response.content ?? {})[0] ?? [];
    expect(answer.headers.get('content-type')?.split(';')[0]).toBe(mediaType);
    expect(content ? mismatches(answer.body, content.schema, schemas) : answer.body).toEqual(content ? [] : undefined);
  }

  const bodyOf = (method: string, template: string, all: boolean) =>
    exampleOf(operation(method, template).requestBody?.content['application/json']?.schema ?? {}, schemas, all) as Record<string, unknown>;

  const patchOf = (template: string) =>
    exampleOf(operation('PATCH', template).requestBody?.content['application/merge-patch+json']?.schema ?? {}, schemas, true);

  it('holds for a merchant from beginning to end', async () => {
    const all = '/v1/merchants';
    const one = '/v1/merchants/{merchantId}';
    const minimal = await api.ask('POST', all, bodyOf('POST', all, false));
    expect(minimal.status).toBe(201);
    expectDocumented(minimal, 'POST', all);
    expectDocumented(await api.ask('POST', all, bodyOf('POST', all, false)), 'POST', all);
    await api.ask('POST', all, { ...bodyOf('POST', all, true), id: 'other' });
    const path = minimal.headers.get('location') ?? '';

    expectDocumented(await api.ask('GET', `${all}?limit=1`), 'GET', all);
    expectDocumented(await api.ask('GET', all), 'GET', all);
    expectDocumented(await api.ask('GET', path), 'GET', one);
    const changed = await api.ask('PATCH', path, bodyOf('PATCH', one, true), { 'if-match': '"1"' });
    expect(changed.status).toBe(200);
    expectDocumented(changed, 'PATCH', one);
    expectDocumented(await api.ask('DELETE', path, undefined, { 'if-match': '"2"' }), 'DELETE', one);
  });

  it('holds for an override from beginning to end', async () => {
    const all = '/v1/merchants/{merchantId}/overrides';
    const one = `${all}/{overrideId}`;
    const path = '/v1/merchants/overridden/overrides';
    await api.ask('POST', '/v1/merchants', { id: 'overridden', name: 'x' });
    const rule = await api.ask('POST', '/v1/merchants/overridden/rules', bodyOf('POST', '/v1/merchants/{merchantId}/rules', false));
    const { id: ruleId } = rule.body as { id: string };
    const until = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '+00:00');
    const body = { ruleId, multiply: 5, until, reason: 'the sale of the weekend' };
    const created = await api.ask('POST', path, body);
    expect(created).toMatchObject({ status: 201, body: { ruleId, multiply: 5, state: 'active', createdBy: 'admin' } });
    expectDocumented(created, 'POST', all);
    const again = await api.ask('POST', path, body);
    expect(again).toMatchObject({ status: 409, body: { code: 'override.rule.taken' } });
    expectDocumented(again, 'POST', all);
    for (const [wrong, pointer] of [
      [{ until: new Date(Date.now() - 1000).toISOString() }, '/until'],
      [{ until: '2026-11-22T10:00:00' }, '/until'],
      [{ until: new Date(Date.now() + 400 * 86_400_000).toISOString() }, '/until'],
      [{ multiply: 1 }, '/multiply'],
      [{ multiply: undefined }, '/multiply'],
      [{ limits: [{ name: 'burst', capacity: 3 }] }, '/multiply'],
      [{ multiply: undefined, limits: [{ name: 'burst' }] }, '/limits/0'],
      [{ factor: 5 }, '/factor'],
    ] as const) {
      const refused = await api.ask('POST', path, { ...body, ...wrong });
      expect(refused).toMatchObject({ status: 400, body: { errors: [expect.objectContaining({ pointer })] } });
    }
    const location = created.headers.get('location') ?? '';
    expectDocumented(await api.ask('GET', path), 'GET', all);
    expectDocumented(await api.ask('GET', location), 'GET', one);
    expectDocumented(await api.ask('DELETE', location), 'DELETE', one);
    expect((await api.ask('GET', location)).body).toMatchObject({ state: 'deleted' });
    expectDocumented(await api.ask('GET', `${path}/999999`), 'GET', one);
    const history = (await api.ask('GET', `/v1/merchants/overridden/rules/${ruleId}/history`)).body as { items: object[] };
    expect(history.items).toMatchObject([
      { action: 'override.deleted' },
      { action: 'override.created', reason: 'the sale of the weekend' },
      { action: 'rule.created' },
    ]);
    const { id } = (await api.ask('POST', path, { ...body, multiply: undefined, limits: [{ name: 'burst', capacity: 3 }] })).body as {
      id: string;
    };
    expect((await api.ask('GET', `${path}?limit=1`)).body).toMatchObject({ nextCursor: expect.any(String) as string });
    expect((await api.ask('GET', `${path}/${id}`)).body).toMatchObject({ limits: [{ name: 'burst', capacity: 3 }], state: 'active' });
  });

  it.each([
    ['/v1/merchants/{merchantId}/rules', '/v1/merchants/ruled/rules'],
    ['/v1/plans/{plan}/rules', '/v1/plans/ruled/rules'],
    ['/v1/default-rules', '/v1/default-rules'],
  ])('holds for a rule at %s from beginning to end', async (template, path) => {
    await api.ask('POST', '/v1/merchants', { id: 'ruled', name: 'x' });
    await api.ask('PUT', '/v1/plans/ruled', {});
    const one = `${template}/{ruleId}`;
    const minimal = await api.ask('POST', path, bodyOf('POST', template, false));
    expect(minimal.status).toBe(201);
    expectDocumented(minimal, 'POST', template);
    expectDocumented(await api.ask('POST', path, bodyOf('POST', template, false)), 'POST', template);
    const location = minimal.headers.get('location') ?? '';

    const full = await api.ask('PUT', location, bodyOf('PUT', one, true), { 'if-match': '"1"' });
    expect(full.status).toBe(200);
    expectDocumented(full, 'PUT', one);
    const patched = await api.ask('PATCH', location, patchOf(one), { 'if-match': '"2"' });
    expect(patched.status).toBe(200);
    expectDocumented(patched, 'PATCH', one);
    expectDocumented(await api.ask('GET', location), 'GET', one);
    expectDocumented(await api.ask('GET', `${path}?limit=1`), 'GET', template);
    const other = await api.ask('POST', path, { ...bodyOf('POST', template, true), name: 'other' });
    expectDocumented(await api.ask('PUT', other.headers.get('location') ?? '', bodyOf('PUT', one, false), { 'if-match': '*' }), 'PUT', one);
    expectDocumented(await api.ask('DELETE', location, undefined, { 'if-match': '"3"' }), 'DELETE', one);
  });

  it('holds for a plan from beginning to end', async () => {
    const [all, one, path] = ['/v1/plans', '/v1/plans/{plan}', '/v1/plans/pro'];
    const created = await api.ask('PUT', path, bodyOf('PUT', one, true));
    expect(created.status).toBe(201);
    expectDocumented(created, 'PUT', one);
    expectDocumented(await api.ask('PUT', path, bodyOf('PUT', one, false), { 'if-match': '"1"' }), 'PUT', one);
    expectDocumented(await api.ask('GET', all), 'GET', all);
    expectDocumented(await api.ask('GET', path), 'GET', one);
    const used = await api.ask('POST', '/v1/merchants', { id: 'of-pro', name: 'x', plan: 'pro' });
    expectDocumented(used, 'POST', '/v1/merchants');
    expectDocumented(await api.ask('DELETE', path, undefined, { 'if-match': '*' }), 'DELETE', one);
    await api.ask('DELETE', '/v1/merchants/of-pro', undefined, { 'if-match': '*' });
    expectDocumented(await api.ask('DELETE', path, undefined, { 'if-match': '*' }), 'DELETE', one);
  });

  it('are the defaults that a rule gets', async () => {
    const { body } = await api.ask('POST', '/v1/default-rules', { ...bodyOf('POST', '/v1/default-rules', false), name: 'defaults' });
    for (const [name, { default: preset }] of Object.entries(schemas['RuleDto']?.properties ?? {})) {
      if (preset !== undefined) expect([name, body[name]]).toEqual([name, preset]);
    }
    for (const [name, { default: preset }] of Object.entries(schemas['TokenBucketDto']?.properties ?? {})) {
      if (preset !== undefined) expect([name, body.limits[0][name]]).toEqual([name, preset]);
    }
  });

  it('are the bounds at which a rule is refused', async () => {
    for (const [name, { minimum, maximum }] of Object.entries(schemas['RuleDto']?.properties ?? {})) {
      for (const value of [(minimum ?? NaN) - 1, (maximum ?? NaN) + 1].filter((each) => !Number.isNaN(each))) {
        const { status, body } = await api.ask('POST', '/v1/default-rules', {
          ...bodyOf('POST', '/v1/default-rules', false),
          [name]: value,
        });
        expect([name, value, status, body.errors?.[0]?.pointer]).toEqual([name, value, 400, `/${name}`]);
      }
    }
  });

  it.each(['TokenBucketDto', 'GcraDto', 'LeakyBucketDto', 'FixedWindowDto', 'SlidingLogDto', 'SlidingCounterDto', 'ConcurrencyDto'])(
    'are the bounds at which a limit is refused: %s',
    async (dto) => {
      const schema = schemas[dto] ?? {};
      const example = exampleOf(schema, schemas, false) as object;
      const post = async (fields: object) => {
        const { status, body } = await api.ask('POST', '/v1/default-rules', {
          name: `${dto} ${JSON.stringify(fields)}`,
          limits: [{ ...example, ...fields }],
        });
        return [status, (body.errors as { pointer: string }[] | undefined)?.map(({ pointer }) => pointer)];
      };
      let numbers = 0;
      for (const [name, { minimum, maximum }] of Object.entries(schema.properties ?? {})) {
        if (minimum === undefined || maximum === undefined) continue;
        numbers++;
        const beside = name === 'excessPercent' ? { throttle: 'soft' } : {};
        for (const value of [minimum - 1, maximum + 1])
          expect([name, value, await post({ ...beside, [name]: value })]).toEqual([name, value, [400, [`/limits/0/${name}`]]]);
        if (name === 'capacity' || name === 'limit') expect([minimum, await post({ [name]: minimum })]).toEqual([0, [201, undefined]]);
      }
      expect(numbers).toBeGreaterThan(2);
    },
  );

  it('holds for every refusal', async () => {
    for (const [template, path] of [
      ['/v1/merchants', '/v1/merchants'],
      ['/v1/default-rules', '/v1/default-rules'],
      ['/v1/merchants/{merchantId}', '/v1/merchants/nobody'],
      ['/v1/merchants/{merchantId}/rules', '/v1/merchants/nobody/rules'],
      ['/v1/merchants/{merchantId}/rules/{ruleId}', '/v1/merchants/ruled/rules/999'],
      ['/v1/default-rules/{ruleId}', '/v1/default-rules/999'],
      ['/v1/plans/{plan}', '/v1/plans/nothing'],
      ['/v1/plans/{plan}/rules/{ruleId}', '/v1/plans/nothing/rules/999'],
    ] as const) {
      for (const method of Object.keys(paths[template] ?? {}).map((name) => name.toUpperCase())) {
        const writes = method !== 'GET' && method !== 'DELETE';
        const good = writes ? bodyOf(method, template, true) : undefined;
        const answers = [
          await api.ask(method, path, good, { authorization: undefined }),
          await api.ask(method, path, good),
          await api.ask(method, path, good, { 'if-match': '*' }),
          await api.ask(method, path, good, { 'if-match': 'broken' }),
          await api.ask(method, `${path}?limit=0`, good, { 'if-match': '*' }),
          ...(writes
            ? [
                await api.ask(method, path, {}, { 'if-match': '*' }),
                await api.ask(method, path, '{', { 'if-match': '*' }),
                await api.ask(method, path, 'x', { 'content-type': 'text/plain' }),
                await api.ask(method, path, 'x'.repeat(70_000)),
              ]
            : []),
        ];
        for (const answer of answers) expectDocumented(answer, method, template);
      }
    }
  });

  it('makes working clients by two stock generators: types and calls are those of the API', async () => {
    const program = join(ROOT, 'test', 'support', 'generated-clients.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [program, api.app.url, ADMIN_TOKEN]);
    const said = { names: ['first: token_bucket', 'second: token_bucket'], status: 409, code: 'merchant.id.taken' };
    expect(JSON.parse(stdout)).toEqual({ 'openapi-fetch': said, 'hey-api': said });
  });

  it('has an example of each algorithm and each part of a rule, and all of them are accepted', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'exemplary', name: 'x' });
    const algorithms = Object.keys((schemas['RuleDto']?.properties?.['limits']?.items as Schema).discriminator?.mapping ?? {});
    const parts = Object.keys(schemas['RuleDto']?.properties ?? {}).filter((name) => name in (examples ?? {}));
    expect(algorithms.filter((name) => !(name in examples))).toEqual([]);
    expect(parts.length).toBeGreaterThan(10);
    for (const [name, { value }] of Object.entries(examples)) {
      const { status, body } = await api.ask('POST', '/v1/merchants/exemplary/rules', value);
      expect([name, status, body.errors]).toEqual([name, 201, undefined]);
      expect(body).toMatchObject(value);
    }
  });

  /** Where two fields do not go together, and where none of them is required by itself. */
  const NOT_BY_EXAMPLES = ['explainDecision', 'createOverride'];

  it('has an example of each body that the API does not find fault with', async () => {
    const ids: Record<string, string> = { merchantId: 'exemplary', plan: 'exemplary' };
    const refused: unknown[] = [];
    let sent = 0;
    for (const [template, operations] of Object.entries(paths)) {
      const path = template.replace(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? '1');
      for (const [method, { operationId, requestBody }] of Object.entries(operations)) {
        const [type, { schema }] = Object.entries(requestBody?.content ?? {}).find(([each]) => each.endsWith('json')) ?? ['', {}];
        if (!schema || NOT_BY_EXAMPLES.includes(operationId)) continue;
        const body = exampleOf(schema, schemas, true);
        const { status, body: said } = await api.ask(method.toUpperCase(), path, body, { 'if-match': '*', 'content-type': type });
        sent++;
        // What is not there is not found, and without Redis there are no live buckets.
        if (![200, 201, 202, 404, 409, 503].includes(status)) refused.push({ operationId, status, said: said as unknown });
      }
    }
    expect(refused).toEqual([]);
    expect(sent).toBeGreaterThan(25);
  });
});
