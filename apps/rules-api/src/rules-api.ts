import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp } from '#platform';
import { ApiTokenRepository } from '#rules-db';
import { Authenticator } from './auth/authenticator.js';
import { TokenText } from './auth/token-text.js';
import { CONFIGURATION_BODIES } from './configuration/configuration.module.js';
import { RulesApiExceptionFilter } from './http/rules-api-exception.filter.js';
import { serveOpenApi } from './openapi/openapi.js';
import { PREVIEW_BODIES } from './preview/preview.module.js';
import { RulesApiModule, type RulesApiDependencies } from './rules-api.module.js';

/** The Rules API, complete but not yet listening. */
export async function createRulesApi(dependencies: RulesApiDependencies): Promise<NestFastifyApplication> {
  const { adminToken, tokenHashKey, database, logger, registry } = dependencies;
  const tokenText = new TokenText(tokenHashKey || adminToken);
  const tokens = new ApiTokenRepository(database.dataSource);
  const authenticator = new Authenticator({ adminToken, tokenText, tokens, isReady: () => database.isReady, logger });
  const app = await createHttpApp(RulesApiModule.register({ ...dependencies, tokenText, tokens }), {
    logger,
    registry,
    filter: new RulesApiExceptionFilter(logger),
    bodies: { ...CONFIGURATION_BODIES, ...PREVIEW_BODIES },
    refusal: authenticator.refusal,
    pages: '/docs',
  });
  serveOpenApi(app);
  return app;
}
