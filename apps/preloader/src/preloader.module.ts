import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { SetAsideController } from './jobs/set-aside.controller.js';
import { SetAside } from './jobs/set-aside.js';
import { Preloader, type PreloaderOptions } from './preloader.js';
import { PreloaderService } from './preloader.service.js';

@Module({})
export class PreloaderModule {
  static register(options: PreloaderOptions): DynamicModule {
    const preloader = new Preloader(options);
    return {
      module: PreloaderModule,
      imports: [ManagementModule.register({ ...options, managementToken: options.config.managementToken })],
      controllers: [SetAsideController],
      providers: [PreloaderService, { provide: Preloader, useValue: preloader }, { provide: SetAside, useValue: preloader.setAside }],
    };
  }
}
