import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp } from '#platform';
import { refusalBeforeBody } from './auth/bearer-token.guard.js';
import { RulesApiExceptionFilter } from './http/rules-api-exception.filter.js';
import { serveOpenApi } from './openapi/openapi.js';
import { RulesApiModule, type RulesApiDependencies } from './rules-api.module.js';

/** Creates the Rules API. The caller makes it listen. */
export async function createRulesApi(dependencies: RulesApiDependencies): Promise<NestFastifyApplication> {
  const { adminToken, logger, registry } = dependencies;
  const app = await createHttpApp(RulesApiModule.register(dependencies), {
    logger,
    registry,
    filter: new RulesApiExceptionFilter(logger),
    refusal: refusalBeforeBody(adminToken),
    pages: '/docs',
  });
  serveOpenApi(app);
  return app;
}
