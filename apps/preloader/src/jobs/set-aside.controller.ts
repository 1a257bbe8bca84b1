import { ManagementTokenGuard } from '#platform';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { SetAside, type SetAsideListing } from './set-aside.js';

/** On the management port: the jobs that wait for somebody to look at them. */
@Controller('jobs')
@UseGuards(ManagementTokenGuard)
export class SetAsideController {
  constructor(@Inject(SetAside) private readonly setAside: SetAside) {}

  @Get('set-aside')
  list(): Promise<SetAsideListing> {
    return this.setAside.list();
  }
}
