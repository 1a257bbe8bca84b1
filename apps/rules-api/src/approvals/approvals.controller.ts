import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor, MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor, LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { ApprovalIdPipe } from '../http/path-ids.js';
import { Decides, Lists, ReadsUnversioned } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { APPROVAL_FILTERS, ApprovalPage, ApprovalQueryDto, ApprovalView, ApproveDto, RejectDto } from './approval.dto.js';
import { ApprovalsService } from './approvals.service.js';

@ApiTags('approvals')
@Controller('v1/approvals')
@UseInterceptors(DatabaseInterceptor)
export class ApprovalsController {
  constructor(@Inject(ApprovalsService) private readonly approvals: ApprovalsService) {}

  @Get()
  @Needs('viewer', 'filtered')
  @Lists('List the changes that wait or waited for a second administrator, the newest first', ApprovalPage, { query: APPROVAL_FILTERS })
  async list(@Query() query: ApprovalQueryDto, @LimitedTo() among: MerchantReach): Promise<Page<ApprovalView>> {
    return this.approvals.list(query, among);
  }

  @Get(':approvalId')
  @Needs('viewer', 'filtered')
  @ReadsUnversioned('Read a change that waits or waited for a second administrator', ApprovalView)
  async get(@Param('approvalId', ApprovalIdPipe) id: string, @LimitedTo() among: MerchantReach): Promise<ApprovalView> {
    return this.approvals.get(id, among);
  }

  @Post(':approvalId/approve')
  @HttpCode(200)
  @Needs('approver', 'filtered')
  @Decides('Approve a change that somebody else wants, and make it', ApprovalView)
  async approve(
    @Param('approvalId', ApprovalIdPipe) id: string,
    @Body() _body: ApproveDto,
    @LimitedTo() among: MerchantReach,
    @CurrentActor() by: Actor,
  ): Promise<ApprovalView> {
    return this.approvals.approve(id, among, by);
  }

  @Post(':approvalId/reject')
  @HttpCode(200)
  @Needs('approver', 'filtered')
  @Decides('Reject a change, so that it is not made, and say why', ApprovalView)
  async reject(
    @Param('approvalId', ApprovalIdPipe) id: string,
    @Body() _body: RejectDto,
    @LimitedTo() among: MerchantReach,
    @CurrentActor() by: Actor,
  ): Promise<ApprovalView> {
    return this.approvals.reject(id, among, by);
  }
}
