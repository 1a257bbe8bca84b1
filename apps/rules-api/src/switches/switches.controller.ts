import { Body, Controller, Get, Inject, Param, Put, UseInterceptors } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { SWITCH_NAMES, type SwitchName } from '#limiter';
import type { Actor } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { SwitchNamePipe } from '../http/path-ids.js';
import { ReadsUnversioned, WritesUnversioned } from '../openapi/operations.js';
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
  @ReadsUnversioned('Read for what a switch is on', SwitchView)
  async get(@Param('switchName', SwitchNamePipe) name: SwitchName): Promise<SwitchView> {
    return this.switches.get(name);
  }

  @Put(':switchName')
  @Needs('admin', 'nothing')
  @ApiParam(NAME)
  @WritesUnversioned('Switch limits off, or only their refusals, or on again', SwitchView)
  async put(
    @Param('switchName', SwitchNamePipe) name: SwitchName,
    @Body() body: SwitchDto,
    @CurrentActor() by: Actor,
  ): Promise<SwitchView> {
    return this.switches.put(name, body, by);
  }
}
