import { ManagementModule } from '#platform';
import { type DynamicModule, Module } from '@nestjs/common';
import { FailedJobsController } from './jobs/failed-jobs.controller.js';
import { FailedJobs } from './jobs/failed-jobs.js';
import { Preloader, type PreloaderOptions } from './preloader.js';
import { PreloaderService } from './preloader.service.js';

@Module({})
export class PreloaderModule {
  static register(options: PreloaderOptions): DynamicModule {
    const preloader = new Preloader(options);
    return {
      module: PreloaderModule,
      imports: [ManagementModule.register({ ...options, managementToken: options.config.managementToken })],
      controllers: [FailedJobsController],
      providers: [PreloaderService, { provide: Preloader, useValue: preloader }, { provide: FailedJobs, useValue: preloader.failedJobs }],
    };
  }
}
