import { Body, Controller, Get, HttpCode, Inject, Post, Query, StreamableFile, UseInterceptors } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import { Readable } from 'node:stream';
import type { Actor, MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor, LimitedTo } from '../auth/principal.js';
import { PatientDatabaseInterceptor } from '../http/database.interceptor.js';
import { PackedAnswer } from '../http/packed-answer.js';
import { Applies, Exports } from '../openapi/operations.js';
import { ApplyQueryDto, ApplyResult, ConfigurationDto, ExportQueryDto } from './configuration.dto.js';
import { type Applied, ConfigurationService } from './configuration.service.js';

/** Merchants and rules as files. */
@ApiTags('configuration')
@Controller('v1')
@UseInterceptors(PatientDatabaseInterceptor)
export class ConfigurationController {
  constructor(@Inject(ConfigurationService) private readonly configuration: ConfigurationService) {}

  @Get('export')
  @Needs('viewer', 'filtered')
  @Exports('Export merchants and rules as a file', ConfigurationDto, { query: ['merchant', 'format', 'select'] })
  async export(@Query() query: ExportQueryDto, @LimitedTo() among: MerchantReach): Promise<StreamableFile> {
    const text = await this.configuration.export(query, among);
    return new StreamableFile(Readable.from(text, { objectMode: false }), { type: `application/${query.format}` });
  }

  @Post('apply')
  @HttpCode(200)
  @Needs('editor', 'nothing')
  @ApiConsumes('application/json', 'application/yaml')
  @ApiBody({ type: ConfigurationDto })
  @Applies('Apply a file of merchants and rules', ApplyResult, {
    query: ['dryRun', 'maxDeletePercent', 'deleteMerchants', 'deletePlans', 'select', 'strict'],
  })
  async apply(@Body() body: unknown, @Query() query: ApplyQueryDto, @CurrentActor() by: Actor): Promise<PackedAnswer> {
    return answerOf(await this.configuration.apply(body, query, by));
  }
}

function answerOf({ changes, ...rest }: Applied): PackedAnswer {
  // The brace that opens the rest has been written.
  return new PackedAnswer('{"changes":[', changes.packed(), `],${JSON.stringify(rest).slice(1)}`);
}
