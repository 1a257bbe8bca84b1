import { applyDecorators, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { IdempotencyInterceptor } from '../http/idempotency.interceptor.js';

/** Headers that operations of one kind have in common. */

export const ETAG = { ETag: { description: 'The version of the answered resource.', schema: { type: 'string', example: '"3"' } } } as const;
export const LOCATION = {
  Location: { description: 'The path of the new resource.', schema: { type: 'string', example: '/v1/merchants/acme' } },
} as const;

export function takesIdempotencyKey(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'A new one for each new request. If the request is repeated with it within a day, it is not carried out again, and its answer is repeated.',
      schema: { type: 'string', minLength: 1, maxLength: 128, example: '9f1c3b1e-6c1d-4d0e-9c55-6f0f3c1f7a10' },
    }),
  );
}

export function changeReason() {
  return ApiHeader({
    name: 'X-Change-Reason',
    required: false,
    description: 'Why the change is made. The history keeps it.',
    schema: { type: 'string', maxLength: 500, example: 'ticket OPS-17' },
  });
}

/** @param otherwise what happens without it; undefined: it is required */
export function ifMatch(otherwise?: string) {
  return ApiHeader({
    name: 'If-Match',
    required: otherwise === undefined,
    description:
      'The ETag that was read. Several, separated by commas, allow any of these versions; * allows whatever version is there. ' +
      (otherwise ?? 'Without the header the answer is 428.'),
    schema: { type: 'string', example: '"3"' },
  });
}
