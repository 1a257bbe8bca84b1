import { nearestName } from '#limiter';
import {
  type Config,
  createLogger,
  createRegistry,
  Health,
  loadConfigOrExit,
  runUntilSignal,
  setProblemTypeBase,
  warnOfUnknownVariables,
} from '#platform';
import { LiveBuckets } from './buckets/live-buckets.js';
import { createRulesDataSource, RulesDatabase } from './database.js';
import { createRulesApi } from './rules-api.js';

/** Attempts to deliver a webhook that are under way when the process ends have so much of the grace; the rest is for requests and connections. */
const WEBHOOK_SHARE_OF_GRACE = 0.3;

async function main(): Promise<void> {
  const config = loadConfigOrExit('rules-api');
  const logger = createLogger('rules-api', config.logLevel);
  warnOfUnknownVariables(logger, nearestName);
  setProblemTypeBase(config.problemTypeBase);
  const registry = createRegistry('rules-api');
  const database = new RulesDatabase(createRulesDataSource(config.databaseUrl, registry), logger);
  const health = new Health();
  health.addCheck('postgres', database.check);

  const liveBuckets = new LiveBuckets(config.bucketsRedisUrl, config.snapshotRedisUrl);
  const { adminToken, tokenHashKey, approvalExpiryMs, approvalOverrideFactor, managementToken } = config;
  const webhooks = {
    allowPrivate: config.webhookAllowPrivate,
    timeoutMs: config.webhookTimeoutMs,
    graceMs: config.shutdownGraceMs * WEBHOOK_SHARE_OF_GRACE,
  };
  const app = await createRulesApi(
    {
      database,
      adminToken,
      tokenHashKey,
      oidc: oidcOf(config),
      liveBuckets,
      approvalExpiryMs,
      approvalOverrideFactor,
      webhooks,
      managementToken,
      health,
      registry,
      logger,
    },
    { publicUrl: config.rulesApiPublicUrl },
  );
  const ending = new AbortController();
  runUntilSignal({
    logger,
    health,
    graceMs: config.shutdownGraceMs,
    close: async () => {
      ending.abort();
      await app.close();
      liveBuckets.close();
      await database.close();
    },
  });
  await app.listen(config.rulesApiPort, config.rulesApiHost);
  logger.info({ url: await app.getUrl() }, 'listening');
  // The app listens before PostgreSQL answers: /readyz says what is missing, and becomes ready without a restart.
  await database.prepare(ending.signal);
}

function oidcOf(config: Config<'rules-api'>) {
  const {
    oidcIssuer: issuer,
    oidcAudience: audience,
    oidcRolesClaim: roles,
    oidcMerchantsClaim: merchants,
    oidcLabelClaim: label,
  } = config;
  return issuer === undefined ? undefined : { issuer, audience, claims: { roles, merchants, label } };
}

await main();
