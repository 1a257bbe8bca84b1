import type { RequestHead } from '../http2/request-head.js';

/** What is the same for all calls with the same head. */
export interface CallHead {
  readonly path: string;
  /** The HTTP status of what is no call of gRPC. */
  readonly refusal: 405 | 415 | undefined;
  /** Until its deadline, in milliseconds from now. Undefined: it cannot be read. */
  readonly withinMs: number | undefined;
  /** Of its messages that are marked so. */
  readonly encoding: string;
  readonly authorization: string | undefined;
  readonly token: string | undefined;
  /** As the caller says it. */
  readonly requestId: string | undefined;
}

const GRPC_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/;
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };

export function callHead({ method, path, headers }: RequestHead): CallHead {
  return {
    path,
    refusal: method !== 'POST' ? 405 : GRPC_TYPE.test(headers.get('content-type') ?? '') ? undefined : 415,
    withinMs: timeoutMs(headers.get('grpc-timeout')),
    encoding: headers.get('grpc-encoding') ?? 'identity',
    authorization: headers.get('authorization'),
    token: headers.get('x-tollgate-token'),
    requestId: headers.get('x-request-id'),
  };
}

function timeoutMs(sent: string | undefined): number | undefined {
  if (sent === undefined) return Infinity;
  const [, digits, unit] = TIMEOUT.exec(sent) ?? [];
  return unit === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}
