import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { DecisionApi, type DecisionApiOptions } from './decision-api.js';
import { DecisionApiService } from './decision-api.service.js';

@Module({})
export class DecisionApiModule {
  static register(options: DecisionApiOptions): DynamicModule {
    return {
      module: DecisionApiModule,
      imports: [ManagementModule.register({ ...options, managementToken: options.config.managementToken })],
      providers: [DecisionApiService, { provide: DecisionApi, useValue: new DecisionApi(options) }],
    };
  }
}
