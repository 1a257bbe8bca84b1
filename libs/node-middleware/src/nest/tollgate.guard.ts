import { type CanActivate, type ExecutionContext, HttpException, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PROBLEM_CONTENT_TYPE } from '#platform';
import type { NodeRequest, NodeResponse } from '../node-http.js';
import { type ExpressRequest, targetOf } from '../express.js';
import { TollgateService } from './tollgate.service.js';

/** A request that Tollgate refuses. Its response is the problem details, ready for the filters of the app. */
export class RateLimitException extends HttpException {}

/** A client that has not waited: there is nobody to answer. */
const CLIENT_CLOSED_REQUEST = 499;

/** As much as Express and Fastify have of a request. */
interface NestRequest {
  readonly raw?: NodeRequest;
  readonly body?: unknown;
}

/** Decides about requests by HTTP before handlers run. Others (of sockets, of queues) pass: they have no response that could tell of limits. */
@Injectable()
export class TollgateGuard implements CanActivate {
  constructor(
    @Inject(TollgateService) private readonly service: TollgateService,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const http = context.switchToHttp();
    const seen = http.getRequest<NestRequest>();
    const response = http.getResponse<{ readonly raw?: NodeResponse }>();
    const request = seen.raw ?? (seen as NodeRequest);
    const admission = await this.service.tollgate.admit(
      {
        seen,
        request,
        response: response.raw ?? (response as NodeResponse),
        target: seen.raw === undefined ? targetOf(seen as ExpressRequest) : (request.url ?? ''),
        ignorePathCase: !this.service.tollgate.pathCaseSensitive(seen.raw !== undefined),
        body: seen.body,
      },
      this.service.routeOf(context.getClass(), context.getHandler() as never),
    );
    if (admission === 'gone') throw new RateLimitException('the client has gone', CLIENT_CLOSED_REQUEST);
    if (admission.passes) {
      this.setHeaders(response, admission.headers);
      return true;
    }
    const { status, headers, body } = admission.answer;
    this.setHeaders(response, [...headers, 'Content-Type', PROBLEM_CONTENT_TYPE]);
    throw new RateLimitException(JSON.parse(body) as Record<string, unknown>, status);
  }

  private setHeaders(response: unknown, headers: readonly string[]): void {
    const { httpAdapter } = this.host;
    for (let i = 0; i < headers.length; i += 2) httpAdapter.setHeader(response, headers[i]!, headers[i + 1]!);
  }
}
