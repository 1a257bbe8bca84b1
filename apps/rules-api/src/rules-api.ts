import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp } from '#platform';
import { ApiTokenRepository, MerchantApiKeyRepository } from '#rules-db';
import { Authenticator } from './auth/authenticator.js';
import { oidcLogins } from './auth/oidc-logins.js';
import { TokenText } from './auth/token-text.js';
import { CONFIGURATION_BODIES } from './configuration/configuration.module.js';
import { RulesApiExceptionFilter } from './http/rules-api-exception.filter.js';
import { serveOpenApi } from './openapi/openapi.js';
import { PREVIEW_BODIES } from './preview/preview.module.js';
import { RulesApiModule, type RulesApiDependencies } from './rules-api.module.js';

/** The Rules API, complete but not yet listening. @param publicUrl where clients reach it, if that is not where it listens */
export async function createRulesApi(
  dependencies: RulesApiDependencies,
  { publicUrl }: { readonly publicUrl?: string | undefined } = {},
): Promise<NestFastifyApplication> {
  const { adminToken, tokenHashKey, database, logger, registry } = dependencies;
  const tokenText = new TokenText(tokenHashKey || adminToken);
  const tokens = new ApiTokenRepository(database.dataSource);
  const apiKeys = new MerchantApiKeyRepository(database.dataSource);
  const oidc = dependencies.oidc && oidcLogins({ ...dependencies.oidc, logger });
  const authenticator = new Authenticator({ adminToken, tokenText, tokens, apiKeys, oidc, isReady: () => database.isReady, logger });
  const app = await createHttpApp(RulesApiModule.register({ ...dependencies, tokenText, tokens, apiKeys }), {
    logger,
    registry,
    filter: new RulesApiExceptionFilter(logger),
    bodies: { ...CONFIGURATION_BODIES, ...PREVIEW_BODIES },
    refusal: authenticator.refusal,
    pages: '/docs',
  });
  serveOpenApi(app, publicUrl);
  return app;
}
