import { Controller, Get, Header, Inject } from '@nestjs/common';
import { SetAside, type SetAsideListing } from './set-aside.js';

/** On the management port: the jobs that wait for somebody to look at them. */
@Controller('jobs')
export class SetAsideController {
  constructor(@Inject(SetAside) private readonly setAside: SetAside) {}

  @Get('set-aside')
  @Header('cache-control', 'no-store')
  list(): Promise<SetAsideListing> {
    return this.setAside.list();
  }
}
