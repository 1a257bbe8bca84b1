import { Module } from '@nestjs/common';
import { DecisionsModule } from '../decisions/decisions.module.js';
import { ExplainController } from './explain.controller.js';
import { ExplainService } from './explain.service.js';

@Module({ imports: [DecisionsModule], controllers: [ExplainController], providers: [ExplainService] })
export class ExplainModule {}
