import { Module } from '@nestjs/common';
import { DefaultRulesController } from './default-rules.controller.js';
import { RulesController } from './rules.controller.js';
import { RulesService } from './rules.service.js';

/** The rules of merchants and the default rules: two addresses of one thing. */
@Module({ controllers: [RulesController, DefaultRulesController], providers: [RulesService] })
export class RulesModule {}
