import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ProblemError, Public } from '#platform';
import { PROBLEM_PAGES, type ProblemPages } from './problem-pages.js';

/** The pages to which the types of problems lead: what happened, why, and what to do. */
@Public()
@Controller('problems')
export class ProblemsController {
  constructor(@Inject(PROBLEM_PAGES) private readonly pages: ProblemPages) {}

  @Get(':type')
  async page(@Param('type') type: string, @Res() reply: FastifyReply): Promise<void> {
    const page = this.pages.get(type);
    if (page === undefined)
      throw new ProblemError({ status: 404, code: 'problem_type.not_found', detail: 'there is no such type of problem' });
    // Browsers show plain text and download Markdown.
    await reply.header('content-type', 'text/plain; charset=utf-8').send(page);
  }
}
