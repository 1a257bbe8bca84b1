import { Body, Controller, HttpCode, Inject, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { Answers } from '../openapi/operations.js';
import { ExplainDto, Explanation } from './explain.dto.js';
import { ExplainService } from './explain.service.js';

@ApiTags('explain')
@Controller('v1/explain')
@UseInterceptors(DatabaseInterceptor)
export class ExplainController {
  constructor(@Inject(ExplainService) private readonly explanations: ExplainService) {}

  @Post()
  @HttpCode(200)
  @Needs('viewer', 'filtered')
  @Answers('Explain what a gateway would decide about a request, and why', Explanation)
  async explain(@Body() body: ExplainDto, @LimitedTo() among: MerchantReach): Promise<Explanation> {
    return this.explanations.explain(body, among);
  }
}
