import { ManagementModule, type Health } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { SwitchesHere } from '../switches/switches-here.js';
import { HAS_MANAGEMENT_TOKEN, SwitchesController } from '../switches/switches.controller.js';

export interface PrimaryOptions {
  readonly health: Health;
  readonly registry: Registry;
  readonly managementToken: string | undefined;
  readonly switches: SwitchesHere;
}

/** The management of a gateway of several workers. */
@Module({})
export class PrimaryModule {
  static register({ switches, ...options }: PrimaryOptions): DynamicModule {
    return {
      module: PrimaryModule,
      imports: [ManagementModule.register(options)],
      controllers: [SwitchesController],
      providers: [
        { provide: SwitchesHere, useValue: switches },
        { provide: HAS_MANAGEMENT_TOKEN, useValue: options.managementToken !== undefined },
      ],
    };
  }
}
