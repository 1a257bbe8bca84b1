import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions } from '#rules-db';
import { WaitsForApproval } from '../approvals/waits-for-approval.js';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { created, IfMatch, tagged } from '../http/entity-tag.js';
import { MerchantIdPipe, RuleIdPipe } from '../http/path-ids.js';
import { Creates, Deletes, Lists, Patches, Reads, Writes } from '../openapi/operations.js';
import { ReplaceRuleDto, RuleDto, RulePage, RulePatch, WrittenRule } from './rule.dto.js';
import { RULE_FILTERS, RuleQueryDto } from './rule-query.dto.js';
import { RulesService } from './rules.service.js';
import { WRITE_QUERY, WriteQueryDto } from './write-query.dto.js';

@ApiTags('rules')
@Controller('v1/merchants/:merchantId/rules')
@UseInterceptors(DatabaseInterceptor)
export class RulesController {
  constructor(@Inject(RulesService) private readonly rules: RulesService) {}

  @Post()
  @Needs('editor', 'merchant')
  @Creates('Create a rule of a merchant', WrittenRule, { belowSomething: true, query: WRITE_QUERY })
  async create(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: RuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return created(reply, await this.rules.create(merchantId, body, query, by));
  }

  @Get()
  @Needs('viewer', 'merchant')
  @Lists('List the rules of a merchant, the highest priority first', RulePage, { belowSomething: true, query: RULE_FILTERS })
  async list(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: RuleQueryDto): Promise<RulePage> {
    return this.rules.list(merchantId, query);
  }

  @Get(':ruleId')
  @Needs('viewer', 'merchant')
  @Reads('Read a rule of a merchant', WrittenRule)
  async get(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.get(merchantId, ruleId));
  }

  @Put(':ruleId')
  @Needs('editor', 'merchant')
  @WaitsForApproval()
  @Writes('Replace a rule of a merchant', WrittenRule, { nameMayBeTaken: true, query: WRITE_QUERY })
  async replace(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: ReplaceRuleDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.replace(merchantId, ruleId, expected, body, query, by));
  }

  @Patch(':ruleId')
  @Needs('editor', 'merchant')
  @WaitsForApproval()
  @Patches('Change a rule of a merchant by a JSON merge patch', WrittenRule, RulePatch, { nameMayBeTaken: true, query: WRITE_QUERY })
  async patch(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.rules.patch(merchantId, ruleId, expected, body, query, by));
  }

  @Delete(':ruleId')
  @HttpCode(204)
  @Needs('editor', 'merchant')
  @WaitsForApproval()
  @Deletes('Delete a rule of a merchant')
  async delete(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.rules.delete(merchantId, ruleId, expected, by);
  }
}
