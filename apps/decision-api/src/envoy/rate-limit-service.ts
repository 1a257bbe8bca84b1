import type { DescriptorEntry } from '#envoy';
import type { HeadersOf } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import type { Decisions } from '../decisions/decisions.js';
import type { GrpcCall, Handlers } from '../grpc/grpc-server.js';
import { readRateLimitRequest } from '../grpc/request-readers.js';
import { writtenRateLimitResponse } from '../grpc/response-writers.js';
import { durationOf } from '../grpc/json-values.js';
import type { LimitOverride, LimitOverrides } from './limit-overrides.js';
import { type DescriptorStatus, demandRateLimitCall, rateLimit, type RateLimitAnswer, type RateLimitCall } from './rate-limit-call.js';

/** envoy.service.ratelimit.v3.RateLimitRequest as it is decoded. */
interface RateLimitMessage {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly DescriptorEntry[];
    readonly limit: LimitOverride | null;
    readonly hitsAddend: { readonly value: string } | null;
  }[];
  readonly hitsAddend: number;
}

export interface RateLimitServiceOptions {
  readonly decisions: Decisions;
  readonly limit: CallerLimit;
  readonly headersOf: HeadersOf;
  readonly overrides: LimitOverrides;
}

/** envoy.service.ratelimit.v3.RateLimitService, in place of envoyproxy/ratelimit. */
export function rateLimitService({ decisions, limit, headersOf, overrides }: RateLimitServiceOptions): Handlers {
  return {
    readers: { ShouldRateLimit: readRateLimitRequest },
    writers: { ShouldRateLimit: writtenRateLimitResponse },
    quick: {
      ShouldRateLimit: (
        message: RateLimitMessage,
        { caller, requestId, isOver }: GrpcCall,
        answered: (outcome: object | Error) => void,
      ) => {
        const call = callOf(message);
        limit.demand(caller, call.descriptors.length);
        rateLimit(call, { decisions, overrides, headersOf, requestId, isOver }, (outcome) =>
          answered(outcome instanceof Error ? outcome : messageOf(outcome)),
        );
      },
    },
  };
}

/** @throws GrpcError */
function callOf({ domain, descriptors, hitsAddend }: RateLimitMessage): RateLimitCall {
  const call = {
    domain,
    descriptors: descriptors.map(({ entries, limit, hitsAddend: own }) => ({
      entries,
      hits: own === null ? hitsAddend || 1 : Number(own.value),
      limit: limit ?? undefined,
    })),
  };
  demandRateLimitCall(call);
  return call;
}

function messageOf({ overallCode, statuses, headers, body }: RateLimitAnswer): object {
  return {
    overallCode,
    statuses: statuses.map(statusMessage),
    responseHeadersToAdd: Array.from({ length: headers.length / 2 }, (_, i) => ({ key: headers[2 * i], value: headers[2 * i + 1] })),
    ...(body !== undefined && { rawBody: Buffer.from(body) }),
  };
}

function statusMessage({ untilResetMs, ...status }: DescriptorStatus): object {
  return untilResetMs === undefined ? status : { ...status, durationUntilReset: durationOf(untilResetMs) };
}
