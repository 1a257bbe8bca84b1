import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions } from '#rules-db';
import { WaitsForApproval } from '../approvals/waits-for-approval.js';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { created, IfMatch, tagged } from '../http/entity-tag.js';
import { PlanNamePipe, RuleIdPipe } from '../http/path-ids.js';
import { Creates, Deletes, Lists, Patches, Reads, Writes } from '../openapi/operations.js';
import { ReplaceRuleDto, RuleDto, RulePage, RulePatch, WrittenRule } from './rule.dto.js';
import { RULE_FILTERS, RuleQueryDto } from './rule-query.dto.js';
import { RulesService } from './rules.service.js';
import { WRITE_QUERY, WriteQueryDto } from './write-query.dto.js';

/** Rules that all merchants of a plan share. */
@ApiTags('plans')
@Controller('v1/plans/:plan/rules')
@UseInterceptors(DatabaseInterceptor)
export class PlanRulesController {
  constructor(@Inject(RulesService) private readonly rules: RulesService) {}

  @Post()
  @Needs('editor', 'nothing')
  @Creates('Create a rule of a plan', WrittenRule, { belowSomething: true, query: WRITE_QUERY })
  async create(
    @Param('plan', PlanNamePipe) plan: string,
    @Body() body: RuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return created(reply, await this.rules.create({ plan }, body, query, by));
  }

  @Get()
  @Needs('viewer', 'anything')
  @Lists('List the rules of a plan, the highest priority first', RulePage, { belowSomething: true, query: RULE_FILTERS })
  async list(@Param('plan', PlanNamePipe) plan: string, @Query() query: RuleQueryDto): Promise<RulePage> {
    return this.rules.list({ plan }, query);
  }

  @Get(':ruleId')
  @Needs('viewer', 'anything')
  @Reads('Read a rule of a plan', WrittenRule)
  async get(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.get({ plan }, ruleId));
  }

  @Put(':ruleId')
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Writes('Replace a rule of a plan', WrittenRule, { nameMayBeTaken: true, query: WRITE_QUERY })
  async replace(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: ReplaceRuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.replace({ plan }, ruleId, expected, body, query, by));
  }

  @Patch(':ruleId')
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Patches('Change a rule of a plan by a JSON merge patch', WrittenRule, RulePatch, { nameMayBeTaken: true, query: WRITE_QUERY })
  async patch(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.patch({ plan }, ruleId, expected, body, query, by));
  }

  @Delete(':ruleId')
  @HttpCode(204)
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Deletes('Delete a rule of a plan')
  async delete(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.rules.delete({ plan }, ruleId, expected, by);
  }
}
