import { ManagementTokenGuard } from '#platform';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { FailedJobs, type FailedJobList } from './failed-jobs.js';

/** Lists, on the management port, the jobs that failed and that somebody has to look at. */
@Controller('jobs')
@UseGuards(ManagementTokenGuard)
export class FailedJobsController {
  constructor(@Inject(FailedJobs) private readonly failedJobs: FailedJobs) {}

  @Get('failed')
  list(): Promise<FailedJobList> {
    return this.failedJobs.list();
  }
}
