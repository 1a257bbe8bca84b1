import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions } from '#rules-db';
import { WaitsForApproval } from '../approvals/waits-for-approval.js';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { created, IfMatch, tagged } from '../http/entity-tag.js';
import { RuleIdPipe } from '../http/path-ids.js';
import { Creates, Deletes, Lists, Patches, Reads, Writes } from '../openapi/operations.js';
import { ReplaceRuleDto, RuleDto, RulePage, RulePatch, WrittenRule } from './rule.dto.js';
import { RULE_FILTERS, RuleQueryDto } from './rule-query.dto.js';
import { RulesService } from './rules.service.js';
import { WRITE_QUERY, WriteQueryDto } from './write-query.dto.js';

/** Rules that belong to no merchant and apply to all. */
@ApiTags('default rules')
@Controller('v1/default-rules')
@UseInterceptors(DatabaseInterceptor)
export class DefaultRulesController {
  constructor(@Inject(RulesService) private readonly rules: RulesService) {}

  @Post()
  @Needs('editor', 'nothing')
  @Creates('Create a default rule', WrittenRule, { query: WRITE_QUERY })
  async create(
    @Body() body: RuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return created(reply, await this.rules.create(null, body, query, by));
  }

  @Get()
  @Needs('viewer', 'anything')
  @Lists('List the default rules, the highest priority first', RulePage, { query: RULE_FILTERS })
  async list(@Query() query: RuleQueryDto): Promise<RulePage> {
    return this.rules.list(null, query);
  }

  @Get(':ruleId')
  @Needs('viewer', 'anything')
  @Reads('Read a default rule', WrittenRule)
  async get(@Param('ruleId', RuleIdPipe) ruleId: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<WrittenRule> {
    return tagged(reply, await this.rules.get(null, ruleId));
  }

  @Put(':ruleId')
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Writes('Replace a default rule', WrittenRule, { nameMayBeTaken: true, query: WRITE_QUERY })
  async replace(
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: ReplaceRuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.replace(null, ruleId, expected, body, query, by));
  }

  @Patch(':ruleId')
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Patches('Change a default rule by a JSON merge patch', WrittenRule, RulePatch, { nameMayBeTaken: true, query: WRITE_QUERY })
  async patch(
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.patch(null, ruleId, expected, body, query, by));
  }

  @Delete(':ruleId')
  @HttpCode(204)
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Deletes('Delete a default rule')
  async delete(
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.rules.delete(null, ruleId, expected, by);
  }
}
