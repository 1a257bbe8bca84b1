import { Body, Controller, Get, Inject, Param, Put, Res, UseInterceptors } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { SWITCH_NAMES, type SwitchName } from '#limiter';
import type { Actor, ExpectedVersions } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { OptionalIfMatch, tagged } from '../http/entity-tag.js';
import { SwitchNamePipe } from '../http/path-ids.js';
import { Reads, WritesAny } from '../openapi/operations.js';
import { SwitchDto, SwitchView } from './switch.dto.js';
import { SwitchesService } from './switches.service.js';

const NAME = { name: 'switchName', enum: SWITCH_NAMES };

@ApiTags('switches')
@Controller('v1/switches')
@UseInterceptors(DatabaseInterceptor)
export class SwitchesController {
  constructor(@Inject(SwitchesService) private readonly switches: SwitchesService) {}

  @Get(':switchName')
  @Needs('viewer', 'nothing')
  @ApiParam(NAME)
  @Reads('Read for what a switch is on', SwitchView)
  async get(@Param('switchName', SwitchNamePipe) name: SwitchName, @Res({ passthrough: true }) reply: FastifyReply): Promise<SwitchView> {
    return tagged(reply, await this.switches.get(name));
  }

  @Put(':switchName')
  @Needs('admin', 'nothing')
  @ApiParam(NAME)
  @WritesAny('Switch limits off, or only their refusals, or on again', SwitchView)
  async put(
    @Param('switchName', SwitchNamePipe) name: SwitchName,
    @OptionalIfMatch() expected: ExpectedVersions | undefined,
    @Body() body: SwitchDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SwitchView> {
    // Nobody who switches limits off in an emergency has to read first.
    return tagged(reply, await this.switches.put(name, expected ?? 'any', body, by));
  }
}
