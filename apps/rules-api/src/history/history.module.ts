import { Module } from '@nestjs/common';
import { HistoryController } from './history.controller.js';
import { RulesModule } from '../rules/rules.module.js';
import { HistoryService } from './history.service.js';

@Module({ imports: [RulesModule], controllers: [HistoryController], providers: [HistoryService] })
export class HistoryModule {}
