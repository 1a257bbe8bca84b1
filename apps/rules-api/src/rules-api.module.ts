import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, APP_PIPE } from '@nestjs/core';
import { type Registry } from 'prom-client';
import { type Health, type Logger, ManagementModule } from '#platform';
import { MerchantRepository, RuleRepository } from '#rules-db';
import { ADMIN_TOKEN, BearerTokenGuard } from './auth/bearer-token.guard.js';
import { RulesDatabase } from './database.js';
import { KnownQueryGuard } from './http/known-query.guard.js';
import { ValidationPipe } from './http/validation.pipe.js';
import { MerchantsModule } from './merchants/merchants.module.js';
import { ProblemsModule } from './problems/problems.module.js';
import { RulesModule } from './rules/rules.module.js';
import { UnreadableRules } from './rules/unreadable-rules.js';

export interface RulesApiParts {
  readonly database: RulesDatabase;
  readonly adminToken: string;
  readonly managementToken?: string | undefined;
  readonly health: Health;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** The database and its repositories, for every resource. */
@Module({})
class DatabaseModule {
  static register({ database, logger, registry }: RulesApiParts): DynamicModule {
    const { dataSource } = database;
    const providers = [
      { provide: RulesDatabase, useValue: database },
      { provide: MerchantRepository, useValue: new MerchantRepository(dataSource) },
      { provide: UnreadableRules, useValue: new UnreadableRules(logger, registry) },
      { provide: RuleRepository, useValue: new RuleRepository(dataSource) },
    ];
    return { module: DatabaseModule, global: true, providers, exports: providers };
  }
}

@Module({})
export class RulesApiModule {
  static register(parts: RulesApiParts): DynamicModule {
    const { adminToken } = parts;
    return {
      module: RulesApiModule,
      imports: [DatabaseModule.register(parts), ManagementModule.register(parts), MerchantsModule, RulesModule, ProblemsModule],
      providers: [
        { provide: ADMIN_TOKEN, useValue: adminToken },
        { provide: APP_GUARD, useClass: BearerTokenGuard },
        { provide: APP_GUARD, useClass: KnownQueryGuard },
        { provide: APP_PIPE, useClass: ValidationPipe },
      ],
    };
  }
}
