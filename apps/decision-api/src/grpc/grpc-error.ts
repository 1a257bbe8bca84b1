import { type FieldError, type Logger, ProblemError } from '#platform';
import { ClaimUnavailableError, PathRefusedError } from '../decisions/decisions.js';
import { claimUnavailable } from '../problems.js';
import { messageNamed } from './protos.js';

/** Status codes of gRPC, those that are answered here. */
export const GrpcCode = {
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  Unauthenticated: 16,
} as const;
export type GrpcCode = (typeof GrpcCode)[keyof typeof GrpcCode];

const CLASSES: Readonly<Partial<Record<GrpcCode, number>>> = {
  [GrpcCode.Internal]: 500,
  [GrpcCode.Unavailable]: 503,
  [GrpcCode.DeadlineExceeded]: 504,
};

/** The HTTP status that stands for a code where calls are counted. */
export function httpStatusOf(code: GrpcCode): number {
  return CLASSES[code] ?? 400;
}

/** Ends a call with a status. */
export class GrpcError extends Error {
  constructor(
    readonly code: GrpcCode,
    message: string,
    /** Stable, for programs: the same as in a problem by HTTP. */
    readonly reason: string,
    readonly fields: readonly FieldError[] = [],
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = 'GrpcError';
  }
}

const CODE_OF_STATUS: Readonly<Record<number, GrpcCode>> = {
  400: GrpcCode.InvalidArgument,
  401: GrpcCode.Unauthenticated,
  403: GrpcCode.PermissionDenied,
  404: GrpcCode.NotFound,
  413: GrpcCode.ResourceExhausted,
  429: GrpcCode.ResourceExhausted,
  503: GrpcCode.Unavailable,
};

/** Why a call has no other answer. What nobody expected is logged, and its words are not told. */
export function grpcErrorOf(error: unknown, logger: Pick<Logger, 'error'>): GrpcError {
  if (error instanceof GrpcError) return error;
  if (error instanceof ProblemError) {
    const { status, detail, code, errors, headers } = error;
    const seconds = Number(headers['retry-after']);
    return new GrpcError(CODE_OF_STATUS[status] ?? GrpcCode.Internal, detail, code, errors, seconds > 0 ? seconds : undefined);
  }
  if (error instanceof PathRefusedError)
    return new GrpcError(GrpcCode.InvalidArgument, error.message, 'path.refused', [field('/path', error.message)]);
  if (error instanceof ClaimUnavailableError) return grpcErrorOf(claimUnavailable(), logger);
  logger.error({ err: error }, 'a call failed');
  return new GrpcError(GrpcCode.Internal, 'the call failed', 'decision_api.failed');
}

/** A field that is wrong. @param pointer as in a body of JSON */
export function field(pointer: string, detail: string): FieldError {
  return { pointer, code: 'field.malformed', detail };
}

/** A google.rpc.Status with what programs can read of an error, as clients expect it in the trailer grpc-status-details-bin. */
export function detailsOf({ code, message, reason, fields, retryAfterSeconds }: GrpcError): Buffer {
  const details = [any('google.rpc.ErrorInfo', { reason, domain: 'tollgate' })];
  if (fields.length > 0) {
    const fieldViolations = fields.map((each) => ({ field: 'pointer' in each ? each.pointer : each.parameter, description: each.detail }));
    details.push(any('google.rpc.BadRequest', { fieldViolations }));
  }
  if (retryAfterSeconds !== undefined) details.push(any('google.rpc.RetryInfo', { retryDelay: { seconds: retryAfterSeconds } }));
  return messageNamed('google.rpc.Status').serialize({ code, message, details });
}

function any(type: string, message: object): object {
  return { type_url: `type.googleapis.com/${type}`, value: messageNamed(type).serialize(message) };
}
