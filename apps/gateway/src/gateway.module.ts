import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { Gateway, type GatewayOptions } from './gateway.js';
import { GatewayService } from './gateway.service.js';
import { SwitchesHere } from './switches/switches-here.js';
import { HAS_MANAGEMENT_TOKEN, SwitchesController } from './switches/switches.controller.js';

@Module({})
export class GatewayModule {
  static register(options: GatewayOptions): DynamicModule {
    const { managementToken } = options.config;
    const gateway = new Gateway(options);
    return {
      module: GatewayModule,
      imports: [ManagementModule.register({ ...options, managementToken })],
      controllers: [SwitchesController],
      providers: [
        GatewayService,
        { provide: Gateway, useValue: gateway },
        { provide: SwitchesHere, useValue: new SwitchesHere(gateway.enforcer) },
        { provide: HAS_MANAGEMENT_TOKEN, useValue: managementToken !== undefined },
      ],
    };
  }
}
