import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { Gateway, type GatewayOptions } from './gateway.js';
import { GatewayService } from './gateway.service.js';

@Module({})
export class GatewayModule {
  static register(options: GatewayOptions): DynamicModule {
    return {
      module: GatewayModule,
      imports: [ManagementModule.register({ ...options, managementToken: options.config.managementToken })],
      providers: [GatewayService, { provide: Gateway, useValue: new Gateway(options) }],
    };
  }
}
