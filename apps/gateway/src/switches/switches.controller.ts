import { Body, Controller, Get, Inject, Param, Put, UseGuards } from '@nestjs/common';
import { isPlainObject, shown, type Switch } from '#limiter';
import { ManagementTokenGuard, ProblemError, Public } from '#platform';
import { SwitchesHere } from './switches-here.js';

/** Whether MANAGEMENT_TOKEN is set. */
export const HAS_MANAGEMENT_TOKEN = Symbol('has a management token');

interface Switched {
  readonly on: readonly Switch[];
}

/** Switches of this gateway alone, on its management port. What is on for all is shown too, and only the Rules API ends it. */
@Public()
@Controller('switches')
@UseGuards(ManagementTokenGuard)
export class SwitchesController {
  constructor(
    @Inject(SwitchesHere) private readonly switches: SwitchesHere,
    @Inject(HAS_MANAGEMENT_TOKEN) private readonly hasToken: boolean,
  ) {}

  @Get()
  async get(): Promise<Switched> {
    return { on: await this.switches.all() };
  }

  @Put(':name')
  async put(@Param('name') name: string, @Body() body: unknown): Promise<Switched> {
    if (!this.hasToken) {
      const detail = 'limits can be switched off here only where MANAGEMENT_TOKEN is set, so that nobody else does it';
      throw new ProblemError({ status: 403, code: 'switch.token_needed', detail });
    }
    if (!isPlainObject(body))
      throw new ProblemError({ status: 400, code: 'body.wrong_type', detail: `the body must be a JSON object, got ${shown(body)}` });
    this.switches.put(name, body);
    return this.get();
  }
}
