import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, type Observable } from 'rxjs';
import { ApprovalRepository, ApprovalWantedError } from '#rules-db';
import { actorOf } from '../auth/principal.js';
import { approvalView, ApprovalView } from './approval.dto.js';

/** For how long a change waits for a second administrator, in milliseconds. */
export const APPROVAL_EXPIRY_MS = Symbol('milliseconds until an approval expires');

/** Answers 202 for a change that has to wait for a second administrator, and keeps it until then. */
@Injectable()
export class ApprovalInterceptor implements NestInterceptor {
  constructor(
    @Inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @Inject(APPROVAL_EXPIRY_MS) private readonly expiryMs: number,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        // Several changes are refused as a whole: nobody can say which of them to approve.
        const [change, ...others] = error instanceof ApprovalWantedError ? error.changes : [];
        if (change === undefined || others.length > 0) throw error;
        const approval = approvalView(await this.approvals.want(change, actorOf(request), this.expiryMs));
        void reply.status(202).header('location', `/v1/approvals/${approval.id}`);
        return approval;
      }),
    );
  }
}

/** For a handler whose change may have to wait for a second administrator. */
export function WaitsForApproval(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(ApprovalInterceptor),
    ApiAcceptedResponse({
      type: ApprovalView,
      description:
        'Nothing is changed yet: the rule is labelled protected, or the override is larger than one administrator may make it, and the change waits for a second one.',
      headers: { Location: { description: 'The path of the approval.', schema: { type: 'string', example: '/v1/approvals/5' } } },
    }),
  );
}
