import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject } from '@nestjs/swagger';
import { createHttpApp, createLogger, createRegistry, Health } from '#platform';
import { createDataSource } from '#rules-db';
import { RulesDatabase } from '../database.js';
import { RulesApiModule } from '../rules-api.module.js';
import { openApiDocument } from './openapi.js';

describe('the OpenAPI document', () => {
  let app: NestFastifyApplication;
  let document: OpenAPIObject;
  const routes: string[] = [];

  beforeAll(async () => {
    const logger = createLogger('rules-api', 'silent');
    const registry = createRegistry('rules-api');
    // Never connected: the document needs no database.
    const database = new RulesDatabase(createDataSource('postgres://127.0.0.1:1/none'), logger);
    const module = RulesApiModule.register({ database, adminToken: 'a-token-for-tests', health: new Health(), registry, logger });
    app = await createHttpApp(module, { logger, registry });
    document = openApiDocument(app);
    app.getHttpAdapter().getInstance().addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) routes.push(`${each} ${url}`);
    });
    await app.init();
  });
  afterAll(() => app.close());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { parameters?: { in: string; name: string; required?: boolean }[]; responses: Record<string, object>; security?: object[]; requestBody?: object }>).map(
        ([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }),
      ),
    );

  it('has every route under /v1, and no other', () => {
    const served = routes.filter((route) => route.includes(' /v1/') && !route.startsWith('HEAD ')).map((route) => route.replace(/:(\w+)/g, '{$1}'));
    expect(served.length).toBeGreaterThan(10);
    expect(operations().map(({ name }) => name).sort()).toEqual(served.sort());
  });

  it('says of each operation what holds for all of its kind', () => {
    for (const { name, operation } of operations()) {
      const [method = '', path = ''] = name.split(' ');
      const statuses = Object.keys(operation.responses);
      const needs = (...wanted: string[]) => expect([name, statuses]).toEqual([name, expect.arrayContaining(wanted)]);
      expect([name, operation.security]).toEqual([name, [{ bearer: [] }]]);
      needs('401', '500', '503');
      if (path.includes('{')) needs('404');
      const parameters = operation.parameters?.map((parameter) => parameter.name) ?? [];
      if (['PUT', 'PATCH', 'DELETE'].includes(method)) {
        needs('412', '428', '400');
        expect([name, parameters]).toEqual([name, expect.arrayContaining(['If-Match'])]);
      }
      if (['POST', 'PUT', 'PATCH'].includes(method)) {
        needs('400', '413', '415');
        expect([name, operation.requestBody]).toEqual([name, expect.objectContaining({ required: true })]);
      }
      expect(parameters.filter((parameter) => path.includes(`{${parameter}}`))).toHaveLength(path.split('{').length - 1);
    }
  });
});
