import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { Gateway, type GatewayOptions } from './gateway.js';
import { GatewayService } from './gateway.service.js';
import { SwitchesHere } from './switches/switches-here.js';
import { HAS_MANAGEMENT_TOKEN, SwitchesController } from './switches/switches.controller.js';

@Module({})
export class GatewayModule {
  static register(gateway: Gateway, options: GatewayOptions): DynamicModule {
    const { managementToken } = options.config;
    const { enforcer } = gateway;
    const switches = new SwitchesHere({ switches: () => enforcer.switches, switchHere: (here) => enforcer.switchHere(here) });
    return {
      module: GatewayModule,
      imports: [ManagementModule.register({ ...options, managementToken })],
      controllers: [SwitchesController],
      providers: [
        GatewayService,
        { provide: Gateway, useValue: gateway },
        { provide: SwitchesHere, useValue: switches },
        { provide: HAS_MANAGEMENT_TOKEN, useValue: managementToken !== undefined },
      ],
    };
  }
}
