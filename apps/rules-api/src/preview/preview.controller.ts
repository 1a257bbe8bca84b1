import { Body, Controller, HttpCode, Inject, Post, Query, Req, Res, StreamableFile, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { ProblemError } from '#platform';
import type { MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { PatientDatabaseInterceptor } from '../http/database.interceptor.js';
import { AnswersInSteps } from '../openapi/operations.js';
import { badBody } from '../http/validation.pipe.js';
import { Preview, PreviewDto, PreviewQueryDto } from './preview.dto.js';
import { answered, lines, NDJSON } from './preview-stream.js';
import { PreviewService } from './preview.service.js';
import { replayChart, SVG } from './replay-chart.js';

@ApiTags('preview')
@Controller('v1/rules/preview')
@UseInterceptors(PatientDatabaseInterceptor)
export class PreviewController {
  constructor(@Inject(PreviewService) private readonly previews: PreviewService) {}

  @Post()
  @HttpCode(200)
  @Needs('viewer', 'filtered')
  @AnswersInSteps('Try a draft of a rule: what it would shadow, and whom it would refuse', Preview, {
    query: Object.keys(PreviewQueryDto.fields),
    picture: SVG,
  })
  async preview(
    @Body() body: PreviewDto,
    @Query() { format }: PreviewQueryDto,
    @LimitedTo() among: MerchantReach,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Preview | StreamableFile> {
    if (format === 'svg' && body.sample === undefined) throw nothingToDraw();
    const steps = this.previews.preview(body, among);
    // What is wrong is found with the first step, and then is a problem like any other.
    const first = await steps.next();
    if (format === 'svg') {
      const { replay } = await answered(steps, first, () => reply.raw.destroyed);
      // Of a sample without a request, and for a caller who is gone.
      if (replay === undefined) throw nothingToDraw();
      return new StreamableFile(Buffer.from(replayChart(replay, body.merchantId)), { type: SVG });
    }
    if (!headers.accept?.includes(NDJSON)) return answered(steps, first, () => reply.raw.destroyed);
    return new StreamableFile(Readable.from(lines(steps, first), { objectMode: false }), { type: NDJSON });
  }
}

function nothingToDraw(): ProblemError {
  const detail = 'must be given and have a request, because a chart draws what becomes of requests';
  return badBody([{ pointer: '/sample', code: 'preview.sample.missing', detail }]);
}
