import { Module } from '@nestjs/common';
import { DefaultRulesController } from './default-rules.controller.js';
import { PlanRulesController } from './plan-rules.controller.js';
import { KnownUses } from './known-use.js';
import { RulesController } from './rules.controller.js';
import { RulesService } from './rules.service.js';
import { WarnedWrites } from './warned-writes.js';

/** The rules of merchants, those of plans and the default rules: three addresses of one thing. */
@Module({
  controllers: [RulesController, PlanRulesController, DefaultRulesController],
  providers: [RulesService, WarnedWrites, KnownUses],
  exports: [WarnedWrites, KnownUses],
})
export class RulesModule {}
