import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { SWITCH_NAMES, type SwitchName } from '#limiter';
import type { Actor, ExpectedVersions, MerchantReach } from '#rules-db';
import { WaitsForApproval } from '../approvals/waits-for-approval.js';
import { Needs } from '../auth/access.js';
import { CurrentActor, LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { IfMatch, tagged } from '../http/entity-tag.js';
import { MerchantIdPipe, PlanNamePipe, RuleIdPipe, SwitchNamePipe, TokenIdPipe } from '../http/path-ids.js';
import { Lists, Reverts } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { MerchantView } from '../merchants/merchant.dto.js';
import { PlanView } from '../plans/plan.dto.js';
import { WrittenRule } from '../rules/rule.dto.js';
import { WRITE_QUERY, WriteQueryDto } from '../rules/write-query.dto.js';
import { AuditQueryDto, ChangePage, type ChangeView, RevertDto } from './history.dto.js';
import { HistoryService } from './history.service.js';

/** The history of what stands under /v1, and the way back to a former version. */
@ApiTags('history')
@Controller('v1')
@UseInterceptors(DatabaseInterceptor)
export class HistoryController {
  constructor(@Inject(HistoryService) private readonly history: HistoryService) {}

  @Get('audit')
  @Needs('viewer', 'filtered')
  @Lists('List all changes, the newest first', ChangePage, { query: ['actor', 'merchant', 'plan', 'since', 'until'] })
  async audit(@Query() query: AuditQueryDto, @LimitedTo() among: MerchantReach): Promise<Page<ChangeView>> {
    return this.history.list(query, among);
  }

  @Get('merchants/:merchantId/history')
  @Needs('viewer', 'merchant')
  @Lists('List the changes of a merchant, the newest first', ChangePage, { belowSomething: true })
  async ofMerchant(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.history.ofMerchant(merchantId, query);
  }

  @Post('merchants/:merchantId/revert')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @Reverts('Revert what is written of a merchant to a former version; its rules stay', MerchantView)
  async revertMerchant(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() { version }: RevertDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MerchantView> {
    return tagged(reply, await this.history.revertMerchant(merchantId, expected, version, by));
  }

  @Get('tokens/:tokenId/history')
  @Needs('admin', 'nothing')
  @Lists('List the changes of a token, the newest first', ChangePage, { belowSomething: true })
  async ofToken(@Param('tokenId', TokenIdPipe) tokenId: string, @Query() query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.history.ofToken(tokenId, query);
  }

  @Get('switches/:switchName/history')
  @Needs('viewer', 'nothing')
  @ApiParam({ name: 'switchName', enum: SWITCH_NAMES })
  @Lists('List the changes of a switch, the newest first', ChangePage, { belowSomething: true })
  async ofSwitch(@Param('switchName', SwitchNamePipe) name: SwitchName, @Query() query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.history.ofSwitch(name, query);
  }

  @Get('merchants/:merchantId/rules/:ruleId/history')
  @Needs('viewer', 'merchant')
  @Lists('List the changes of a rule of a merchant, the newest first', ChangePage, { belowSomething: true })
  async ofRule(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @Query() query: PageQueryDto,
  ): Promise<Page<ChangeView>> {
    return this.history.ofRule(merchantId, ruleId, query);
  }

  @Get('default-rules/:ruleId/history')
  @Needs('viewer', 'anything')
  @Lists('List the changes of a default rule, the newest first', ChangePage, { belowSomething: true })
  async ofDefaultRule(@Param('ruleId', RuleIdPipe) ruleId: string, @Query() query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.history.ofRule(null, ruleId, query);
  }

  @Get('plans/:plan/history')
  @Needs('viewer', 'anything')
  @Lists('List the changes of a plan, the newest first', ChangePage, { belowSomething: true })
  async ofPlan(@Param('plan', PlanNamePipe) plan: string, @Query() query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.history.ofPlan(plan, query);
  }

  @Post('plans/:plan/revert')
  @HttpCode(200)
  @Needs('editor', 'nothing')
  @Reverts('Revert what is written of a plan to a former version; its rules stay', PlanView)
  async revertPlan(
    @Param('plan', PlanNamePipe) plan: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() { version }: RevertDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PlanView> {
    return tagged(reply, await this.history.revertPlan(plan, expected, version, by));
  }

  @Get('plans/:plan/rules/:ruleId/history')
  @Needs('viewer', 'anything')
  @Lists('List the changes of a rule of a plan, the newest first', ChangePage, { belowSomething: true })
  async ofPlanRule(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @Query() query: PageQueryDto,
  ): Promise<Page<ChangeView>> {
    return this.history.ofRule({ plan }, ruleId, query);
  }

  @Post('plans/:plan/rules/:ruleId/revert')
  @HttpCode(200)
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Reverts('Revert a rule of a plan to a former version; a deleted one comes back', WrittenRule, {
    nameMayBeTaken: true,
    query: WRITE_QUERY,
  })
  async revertOfPlan(
    @Param('plan', PlanNamePipe) plan: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: RevertDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.history.revert({ plan }, ruleId, expected, body, query, by));
  }

  @Post('merchants/:merchantId/rules/:ruleId/revert')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @WaitsForApproval()
  @Reverts('Revert a rule of a merchant to a former version; a deleted one comes back', WrittenRule, {
    nameMayBeTaken: true,
    query: WRITE_QUERY,
  })
  async revert(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: RevertDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.history.revert(merchantId, ruleId, expected, body, query, by));
  }

  @Post('default-rules/:ruleId/revert')
  @HttpCode(200)
  @Needs('editor', 'nothing')
  @WaitsForApproval()
  @Reverts('Revert a default rule to a former version; a deleted one comes back', WrittenRule, { nameMayBeTaken: true, query: WRITE_QUERY })
  async revertDefault(
    @Param('ruleId', RuleIdPipe) ruleId: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: RevertDto,
    @Query() query: WriteQueryDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WrittenRule> {
    return tagged(reply, await this.history.revert(null, ruleId, expected, body, query, by));
  }
}
