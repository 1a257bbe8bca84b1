import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp } from '#platform';
import { refusalBeforeBody } from './auth/bearer-token.guard.js';
import { RulesApiExceptionFilter } from './http/rules-api-exception.filter.js';
import { serveOpenApi } from './openapi/openapi.js';
import { RulesApiModule, type RulesApiParts } from './rules-api.module.js';

/** The Rules API, complete but not yet listening. */
export async function createRulesApi(parts: RulesApiParts): Promise<NestFastifyApplication> {
  const { adminToken, logger, registry } = parts;
  const app = await createHttpApp(RulesApiModule.register(parts), {
    logger,
    registry,
    filter: new RulesApiExceptionFilter(logger),
    refusal: refusalBeforeBody(adminToken),
    pages: '/docs',
  });
  serveOpenApi(app);
  return app;
}
