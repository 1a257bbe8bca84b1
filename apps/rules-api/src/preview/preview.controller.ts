import { Body, Controller, HttpCode, Inject, Post, Req, Res, StreamableFile, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { PatientDatabaseInterceptor } from '../http/database.interceptor.js';
import { AnswersInSteps } from '../openapi/operations.js';
import { Preview, PreviewDto } from './preview.dto.js';
import { answered, lines, NDJSON } from './preview-stream.js';
import { PreviewService } from './preview.service.js';

@ApiTags('preview')
@Controller('v1/rules/preview')
@UseInterceptors(PatientDatabaseInterceptor)
export class PreviewController {
  constructor(@Inject(PreviewService) private readonly previews: PreviewService) {}

  @Post()
  @HttpCode(200)
  @Needs('viewer', 'filtered')
  @AnswersInSteps('Try a draft of a rule: what it would shadow, and whom it would refuse', Preview)
  async preview(
    @Body() body: PreviewDto,
    @LimitedTo() among: readonly string[] | null,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Preview | StreamableFile> {
    const steps = this.previews.preview(body, among);
    // What is wrong is found with the first step, and then is a problem like any other.
    const first = await steps.next();
    if (!headers.accept?.includes(NDJSON)) return answered(steps, first, () => reply.raw.destroyed);
    return new StreamableFile(Readable.from(lines(steps, first), { objectMode: false }), { type: NDJSON });
  }
}
