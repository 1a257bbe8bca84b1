import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { IfMatch, OptionalIfMatch, tagged } from '../http/entity-tag.js';
import { NewPlanNamePipe, PlanNamePipe } from '../http/path-ids.js';
import { CreatesOrWrites, Deletes, Lists, Patches, Reads } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { PlanDto, PlanPage, PlanPatch, PlanView } from './plan.dto.js';
import { PlansService } from './plans.service.js';

/** Sets of rules that merchants share. */
@ApiTags('plans')
@Controller('v1/plans')
@UseInterceptors(DatabaseInterceptor)
export class PlansController {
  constructor(@Inject(PlansService) private readonly plans: PlansService) {}

  @Get()
  @Needs('viewer', 'anything')
  @Lists('List plans by name', PlanPage)
  async list(@Query() query: PageQueryDto): Promise<Page<PlanView>> {
    return this.plans.list(query);
  }

  @Get(':plan')
  @Needs('viewer', 'anything')
  @Reads('Read a plan', PlanView)
  async get(@Param('plan', PlanNamePipe) name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<PlanView> {
    return tagged(reply, await this.plans.get(name));
  }

  @Put(':plan')
  @Needs('editor', 'nothing')
  @CreatesOrWrites('Create a plan, or replace what is written of one', PlanView)
  async write(
    @Param('plan', NewPlanNamePipe) name: string,
    @OptionalIfMatch() expected: ExpectedVersions | undefined,
    @Body() body: PlanDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PlanView> {
    const { plan, isNew } = await this.plans.write(name, expected, body, by);
    if (isNew) void reply.status(201).header('location', `/v1/plans/${name}`);
    return tagged(reply, plan);
  }

  @Patch(':plan')
  @Needs('editor', 'nothing')
  @Patches('Change what is written of a plan by a JSON merge patch', PlanView, PlanPatch)
  async patch(
    @Param('plan', PlanNamePipe) name: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PlanView> {
    return tagged(reply, await this.plans.patch(name, expected, body, by));
  }

  @Delete(':plan')
  @HttpCode(204)
  @Needs('editor', 'nothing')
  @Deletes('Delete a plan that no merchant has, with its rules', { mayBeInUse: true })
  async delete(@Param('plan', PlanNamePipe) name: string, @IfMatch() expected: ExpectedVersions, @CurrentActor() by: Actor): Promise<void> {
    await this.plans.delete(name, expected, by);
  }
}
