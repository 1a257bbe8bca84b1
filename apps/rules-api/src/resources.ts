import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { ApprovalsModule } from './approvals/approvals.module.js';
import { BucketsModule } from './buckets/buckets.module.js';
import { ConfigurationModule } from './configuration/configuration.module.js';
import { DecisionsModule } from './decisions/decisions.module.js';
import { ExplainModule } from './explain/explain.module.js';
import { HistoryModule } from './history/history.module.js';
import { MeModule } from './me/me.module.js';
import { MerchantsModule } from './merchants/merchants.module.js';
import { OverridesModule } from './overrides/overrides.module.js';
import { PlansModule } from './plans/plans.module.js';
import { PreviewModule } from './preview/preview.module.js';
import { RulesModule } from './rules/rules.module.js';
import { SwitchesModule } from './switches/switches.module.js';
import { TokensModule } from './tokens/tokens.module.js';
import { UsageModule } from './usage/usage.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** What the API serves below /v1, and what its document describes: one list, so that nothing is served undocumented. */
export const RESOURCES = [
  MerchantsModule,
  PlansModule,
  RulesModule,
  HistoryModule,
  TokensModule,
  ApiKeysModule,
  BucketsModule,
  MeModule,
  ExplainModule,
  OverridesModule,
  PreviewModule,
  UsageModule,
  DecisionsModule,
  ConfigurationModule,
  ApprovalsModule,
  SwitchesModule,
  WebhooksModule,
];
