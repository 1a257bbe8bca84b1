import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, APP_PIPE } from '@nestjs/core';
import type { Registry } from 'prom-client';
import { type Health, type Logger, ManagementModule } from '#platform';
import {
  ApiTokenRepository,
  ApplicableRulesReader,
  ApprovalRepository,
  SwitchRepository,
  AuditRepository,
  IdempotencyKeyRepository,
  MerchantApiKeyRepository,
  MerchantRepository,
  OverrideRepository,
  PlanRepository,
  RuleReader,
  RuleRepository,
} from '#rules-db';
import { APPROVAL_EXPIRY_MS } from './approvals/waits-for-approval.js';
import { AccessGuard } from './auth/access.guard.js';
import { LabelReach } from './auth/label-reach.js';
import type { OidcOptions } from './auth/oidc-logins.js';
import { TokenText } from './auth/token-text.js';
import { LiveBuckets } from './buckets/live-buckets.js';
import { LiveReports } from './buckets/live-reports.js';
import { RulesDatabase } from './database.js';
import { IDEMPOTENCY_LOGGER } from './http/idempotency.interceptor.js';
import { KnownQueryGuard } from './http/known-query.guard.js';
import { ValidationPipe } from './http/validation.pipe.js';
import { ProblemsModule } from './problems/problems.module.js';
import { RESOURCES } from './resources.js';
import { SchemasModule } from './schemas/schemas.module.js';
import { UnreadableRules } from './rules/unreadable-rules.js';
import { type WebhookOptions, webhookProviders } from './webhooks/webhook-providers.js';

/** The objects that the Rules API needs; the caller makes and closes them. */
export interface RulesApiDependencies {
  readonly database: RulesDatabase;
  readonly adminToken: string;
  /** With which API tokens are hashed; the admin token unless given. */
  readonly tokenHashKey?: string | undefined;
  /** The OIDC issuer whose tokens are accepted beside ours, if there is one. */
  readonly oidc?: Pick<OidcOptions, 'issuer' | 'audience' | 'claims'> | undefined;
  readonly liveBuckets: LiveBuckets;
  /** A day unless given. */
  readonly approvalExpiryMs?: number;
  /** Overrides by more wait for a second administrator; none unless given. */
  readonly approvalOverrideFactor?: number | undefined;
  /** Public addresses only unless given. */
  readonly webhooks?: WebhookOptions;
  readonly managementToken?: string | undefined;
  readonly health: Health;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** What the module and the authentication in front of it share. */
export interface SharedDependencies {
  readonly tokenText: TokenText;
  readonly tokens: ApiTokenRepository;
  readonly apiKeys: MerchantApiKeyRepository;
}

/** The database and its repositories, for every resource. */
@Module({})
class DatabaseModule {
  static register({
    database,
    logger,
    registry,
    tokenText,
    tokens,
    apiKeys,
    liveBuckets,
    approvalExpiryMs = 86_400_000,
    approvalOverrideFactor,
    adminToken,
    tokenHashKey,
    webhooks,
  }: RulesApiDependencies & SharedDependencies): DynamicModule {
    const { dataSource } = database;
    liveBuckets.reports.register(registry);
    const providers = [
      { provide: RulesDatabase, useValue: database },
      { provide: MerchantRepository, useValue: new MerchantRepository(dataSource) },
      { provide: PlanRepository, useValue: new PlanRepository(dataSource) },
      { provide: UnreadableRules, useValue: new UnreadableRules(logger, registry) },
      { provide: RuleRepository, useValue: new RuleRepository(dataSource) },
      { provide: OverrideRepository, useValue: new OverrideRepository(dataSource, Date.now, approvalOverrideFactor) },
      { provide: ApiTokenRepository, useValue: tokens },
      { provide: MerchantApiKeyRepository, useValue: apiKeys },
      { provide: TokenText, useValue: tokenText },
      { provide: RuleReader, useValue: new RuleReader(dataSource) },
      { provide: ApplicableRulesReader, useValue: new ApplicableRulesReader(dataSource) },
      { provide: LiveBuckets, useValue: liveBuckets },
      { provide: LiveReports, useValue: liveBuckets.reports },
      { provide: IdempotencyKeyRepository, useValue: new IdempotencyKeyRepository(dataSource) },
      { provide: ApprovalRepository, useValue: new ApprovalRepository(dataSource) },
      { provide: SwitchRepository, useValue: new SwitchRepository(dataSource) },
      { provide: APPROVAL_EXPIRY_MS, useValue: approvalExpiryMs },
      ...webhookProviders({ database, adminToken, tokenHashKey, logger, registry }, webhooks),
      { provide: IDEMPOTENCY_LOGGER, useValue: logger },
      { provide: AuditRepository, useValue: new AuditRepository(dataSource) },
    ];
    return { module: DatabaseModule, global: true, providers, exports: providers };
  }
}

@Module({})
export class RulesApiModule {
  static register(dependencies: RulesApiDependencies & SharedDependencies): DynamicModule {
    return {
      module: RulesApiModule,
      imports: [
        DatabaseModule.register(dependencies),
        ManagementModule.register(dependencies),
        ...RESOURCES,
        ProblemsModule,
        SchemasModule,
      ],
      providers: [
        LabelReach,
        { provide: APP_GUARD, useClass: AccessGuard },
        { provide: APP_GUARD, useClass: KnownQueryGuard },
        { provide: APP_PIPE, useClass: ValidationPipe },
      ],
    };
  }
}
