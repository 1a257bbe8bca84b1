import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { mutated } from '#limiter/testing';
import * as fc from 'fast-check';
import { createRequire } from 'node:module';
import { createHttpApp, createLogger, createRegistry, Health } from '#platform';
import { ApiTokenRepository, createDataSource, MerchantApiKeyRepository } from '#rules-db';
import { LiveBuckets } from '../buckets/live-buckets.js';
import { TokenText } from '../auth/token-text.js';
import { RulesDatabase } from '../database.js';
import { RulesApiModule } from '../rules-api.module.js';
import { openApiDocument } from './openapi.js';
import { ValidationPipe } from '../http/validation.pipe.js';
import { CreateMerchantDto } from '../merchants/merchant.dto.js';
import { RuleDto } from '../rules/rule.dto.js';

describe('the OpenAPI document', () => {
  let app: NestFastifyApplication;
  let document: OpenAPIObject;
  const routes: string[] = [];

  beforeAll(async () => {
    const logger = createLogger('rules-api', 'silent');
    const registry = createRegistry('rules-api');
    // Never connected: the document needs no database.
    const database = new RulesDatabase(createDataSource('postgres://127.0.0.1:1/none'), logger);
    const adminToken = 'a-token-for-tests';
    const liveBuckets = new LiveBuckets(undefined);
    const shared = {
      liveBuckets,
      tokenText: new TokenText(adminToken),
      tokens: new ApiTokenRepository(database.dataSource),
      apiKeys: new MerchantApiKeyRepository(database.dataSource),
    };
    const module = RulesApiModule.register({ ...shared, database, adminToken, health: new Health(), registry, logger });
    app = await createHttpApp(module, { logger, registry });
    document = openApiDocument(app, 'https://limits.example.com');
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('onRoute', ({ method, url }) => {
        for (const each of [method].flat()) routes.push(`${each} ${url}`);
      });
    await app.init();
  });
  afterAll(() => app.close());

  describe('is as strict as the validation', () => {
    type Validator = (value: unknown) => boolean;
    const { default: Ajv } = createRequire(import.meta.url)('ajv') as {
      default: new (options: object) => { addSchema(schema: unknown, key: string): void; compile(schema: unknown): Validator };
    };
    const DTOS = { CreateMerchantDto, RuleDto };

    const validatorOf = (name: string): Validator => {
      const ajv = new Ajv({ strict: false, formats: { 'date-time': true } });
      ajv.addSchema({ components: document.components }, 'document');
      return ajv.compile({ $ref: `document#/components/schemas/${name}` });
    };
    const accepted = (name: keyof typeof DTOS, body: unknown): boolean => {
      try {
        new ValidationPipe().transform(body, { type: 'body', metatype: DTOS[name] });
        return true;
      } catch {
        return false;
      }
    };
    const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };
    const RULE = {
      name: 'card payments',
      match: { methods: ['POST'], paths: ['/transactions/**'] },
      key: ['merchant'],
      limits: [LIMIT],
      cost: 1,
      penalty: { refusals: 3, windowMs: 1_000, blockMs: 1_000 },
    };
    const MERCHANT = { id: 'acme', name: 'Acme', timeZone: 'UTC' };

    it.each<[string, keyof typeof DTOS, unknown, boolean]>([
      ['a rule', 'RuleDto', RULE, true],
      ['an unknown field', 'RuleDto', { ...RULE, prio: 1 }, false],
      ['an unknown field of a limit', 'RuleDto', { ...RULE, limits: [{ ...LIMIT, burst: 1 }] }, false],
      ['a field of another algorithm', 'RuleDto', { ...RULE, limits: [{ ...LIMIT, windowMs: 1_000 }] }, false],
      ['an unknown field of a penalty', 'RuleDto', { ...RULE, penalty: { ...RULE.penalty, for: 1 } }, false],
      ['an unknown field of the match', 'RuleDto', { ...RULE, match: { methods: [], paths: [], hosts: [] } }, false],
      ['a method in small letters', 'RuleDto', { ...RULE, match: { methods: ['post'] } }, false],
      ['a name with a space at its end', 'RuleDto', { ...RULE, name: 'x ' }, false],
      ['a name with a line break', 'RuleDto', { ...RULE, name: 'x\ny' }, false],
      ['a merchant', 'CreateMerchantDto', MERCHANT, true],
      ['a merchant called ..', 'CreateMerchantDto', { ...MERCHANT, id: '..' }, false],
      ['a merchant with a space at the beginning', 'CreateMerchantDto', { ...MERCHANT, id: ' a' }, false],
      ['the plan of a merchant', 'CreateMerchantDto', { ...MERCHANT, plan: 'pro' }, true],
      ['a plan of no merchant', 'CreateMerchantDto', { ...MERCHANT, plan: null }, true],
      ['a plan that has no name', 'CreateMerchantDto', { ...MERCHANT, plan: 'No Name' }, false],
      ['an unknown field of a merchant', 'CreateMerchantDto', { ...MERCHANT, planet: 'pro' }, false],
    ])('%s', (_what, name, body, expected) => {
      expect([validatorOf(name)(body), accepted(name, body)]).toEqual([expected, expected]);
    });

    it('a field that may be null may be null', () => {
      expect(validatorOf('RuleDto')({ ...RULE, penalty: null })).toBe(true);
      expect(validatorOf('RuleDto')({ ...RULE, penalty: 7 })).toBe(false);
    });

    it.each([
      ['RuleDto', RULE],
      ['CreateMerchantDto', MERCHANT],
    ] as const)('and no stricter: whatever is accepted as %s fits the schema', (name, example) => {
      const fits = validatorOf(name);
      let accepts = 0;
      fc.assert(
        fc.property(mutated(example), (body) => {
          if (!accepted(name, body)) return;
          accepts++;
          expect([body, fits(body)]).toEqual([body, true]);
        }),
        { numRuns: 500 },
      );
      expect(accepts).toBeGreaterThan(5);
    });
  });

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(
        item as Record<
          string,
          {
            operationId: string;
            parameters?: { in: string; name: string; required?: boolean }[];
            responses: Record<string, object>;
            security?: object[];
            requestBody?: object;
          }
        >,
      ).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    );

  it('has every route under /v1, and no other', () => {
    const served = routes
      .filter((route) => route.includes(' /v1/') && !route.startsWith('HEAD '))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    expect(served.length).toBeGreaterThan(10);
    expect(
      operations()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(served.sort());
  });

  it('says of each operation what holds for all of its kind', () => {
    for (const { name, operation } of operations()) {
      const [method = '', path = ''] = name.split(' ');
      const statuses = Object.keys(operation.responses);
      const needs = (...wanted: string[]) => expect([name, statuses]).toEqual([name, expect.arrayContaining(wanted)]);
      expect([name, operation.security]).toEqual([name, [path.startsWith('/v1/me/') ? { merchantKey: [] } : { bearer: [] }]]);
      needs('401', '431', '500', '503');
      if (path.includes('{')) needs('404');
      const parameters = operation.parameters?.map((parameter) => parameter.name) ?? [];
      // Tokens, API keys and overrides are never edited, and a switch may be changed unread.
      if (['PUT', 'PATCH', 'DELETE'].includes(method) && !/^\/v1\/tokens|\/api-keys|\/overrides|^\/v1\/switches/.test(path)) {
        needs('412', '428', '400');
        expect([name, parameters]).toEqual([name, expect.arrayContaining(['If-Match'])]);
      }
      if (['POST', 'PUT', 'PATCH'].includes(method)) {
        needs('400', '413', '415');
        const required = !/\/(rotate|approve|reject|test|retry)$/.test(path);
        expect([name, operation.requestBody]).toEqual([name, expect.objectContaining({ required })]);
      }
      expect(parameters.filter((parameter) => path.includes(`{${parameter}}`))).toHaveLength(path.split('{').length - 1);
    }
  });

  it('lets the body of each change say why, and no other', () => {
    const schemas = document.components?.schemas ?? {};
    let changes = 0;
    for (const { name, operation } of operations()) {
      const content = (operation.requestBody as { content?: Record<string, { schema: { $ref: string } }> } | undefined)?.content ?? {};
      const isChange = operation.parameters?.some((parameter) => parameter.name === 'X-Change-Reason') ?? false;
      for (const { schema } of Object.values(content)) {
        const body = schemas[schema.$ref.split('/').at(-1) ?? ''] as { properties?: Record<string, unknown> };
        expect([name, 'reason' in (body.properties ?? {})]).toEqual([name, isChange]);
        changes += isChange ? 1 : 0;
      }
    }
    expect(changes).toBeGreaterThan(30);
  });

  it('names each operation by a short sentence of its own', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+(?:[A-Z][a-z]+){1,4}$/);
    // Clients call them by these names.
    expect(ids).toEqual(
      expect.arrayContaining(['createMerchant', 'listRules', 'replacePlanRule', 'revertDefaultRule', 'showMyLimits', 'applyConfiguration']),
    );
  });

  it('says where it is served, and by which schemes callers are known', () => {
    expect(document.servers).toEqual([expect.objectContaining({ url: 'https://limits.example.com' })]);
    const schemes = Object.entries(document.components?.securitySchemes ?? {});
    expect(schemes.map(([name]) => name).sort()).toEqual(['bearer', 'merchantKey']);
    // A token of this API is no JWT.
    for (const [, scheme] of schemes) expect(scheme).toEqual({ type: 'http', scheme: 'bearer', description: expect.any(String) as string });
  });

  it('lets a step of a JSON Patch have any value', () => {
    const step = document.components?.schemas?.['PatchStep'] as { properties: { value: { anyOf: object[]; nullable: boolean } } };
    const { anyOf, nullable } = step.properties.value;
    expect(anyOf.map((schema) => (schema as { type: string }).type)).toEqual(['object', 'array', 'string', 'number', 'boolean']);
    expect(nullable).toBe(true);
  });
});
