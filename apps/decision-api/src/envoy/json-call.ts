import type { HeadersOf } from '#edge';
import { isPlainObject } from '#limiter';
import { ProblemError } from '#platform';
import type { CallerLimit } from '../callers/caller-limit.js';
import type { Decisions } from '../decisions/decisions.js';
import { GrpcCode, GrpcError } from '../grpc/grpc-error.js';
import { jsonAnswer } from '../http/answer.js';
import type { Route } from '../http/call.js';
import { MOST_CHECK_BYTES } from '../http/check-call.js';
import { badBody, demandKnown } from '../http/valid-body.js';
import type { LimitOverride, LimitOverrides } from './limit-overrides.js';
import {
  type CalledDescriptor,
  demandRateLimitCall,
  type DescriptorStatus,
  invalid,
  rateLimit,
  type RateLimitAnswer,
  type RateLimitCall,
} from './rate-limit-call.js';

/** POST /json, as envoyproxy/ratelimit has it: the messages of ShouldRateLimit in the JSON form of proto3, answered with 200, or 429 over a limit. */
export function jsonCall(decisions: Decisions, limit: CallerLimit, headersOf: HeadersOf, overrides: LimitOverrides): Route {
  return {
    method: 'POST',
    handle: async (asked) => {
      const { query, caller, requestId, left } = asked;
      demandKnown(query, []);
      const message = await asked.body(MOST_CHECK_BYTES);
      const { overallCode, statuses, headers } = await asProblem(async () => {
        const call = callOf(message);
        limit.demand(caller, call.descriptors.length);
        return new Promise<RateLimitAnswer>((resolve, reject) => {
          const answer = (outcome: RateLimitAnswer | Error): void => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
          rateLimit(call, { decisions, overrides, headersOf, requestId, isOver: () => left.aborted }, answer);
        });
      });
      const shown = { overallCode, statuses: statuses.map(statusJson) };
      const limits = headers.filter((_, i) => headers[i - (i % 2)] !== 'Content-Type');
      return jsonAnswer(shown, overallCode === 'OK' ? 200 : 429, limits);
    },
  };
}

function statusJson({ untilResetMs, ...status }: DescriptorStatus): object {
  return untilResetMs === undefined ? status : { ...status, durationUntilReset: `${(untilResetMs / 1000).toFixed(3)}s` };
}

/** What is an error of a field by gRPC is one here. */
async function asProblem<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
    const { code, message, reason, fields } = error;
    if (code === GrpcCode.InvalidArgument)
      throw badBody(fields.map((each) => ({ pointer: 'pointer' in each ? each.pointer : '', code: reason, detail: each.detail })));
    throw new ProblemError({ status: 400, code: reason, detail: message });
  }
}

/** Fields are known by both of their names, and those that are not known are passed over, as readers of protobuf do. @throws GrpcError */
function callOf(message: Readonly<Record<string, unknown>>): RateLimitCall {
  const hits = hitsIn(message, '') || 1;
  const call: RateLimitCall = {
    domain: textIn(message['domain'], '/domain'),
    descriptors: listIn(message['descriptors'], '/descriptors').map((each, i) => descriptorIn(each, i, hits)),
  };
  demandRateLimitCall(call);
  return call;
}

function descriptorIn(value: unknown, index: number, hits: number): CalledDescriptor {
  const pointer = `/descriptors/${index}`;
  const descriptor = objectIn(value, pointer);
  const entries = listIn(descriptor['entries'], `${pointer}/entries`).map((each, i) => {
    const place = `${pointer}/entries/${i}`;
    const { key, value: text } = objectIn(each, place);
    return { key: textIn(key, `${place}/key`), value: textIn(text, `${place}/value`) };
  });
  return { entries, hits: hitsIn(descriptor, pointer) ?? hits, limit: overrideIn(descriptor['limit'], `${pointer}/limit`) };
}

function overrideIn(value: unknown, pointer: string): LimitOverride | undefined {
  if (!isThere(value)) return undefined;
  const { unit, requestsPerUnit, requests_per_unit = requestsPerUnit } = objectIn(value, pointer);
  return { requestsPerUnit: numberIn(requests_per_unit, `${pointer}/requests_per_unit`) ?? 0, unit: textIn(unit, `${pointer}/unit`) };
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

function objectIn(value: unknown, pointer: string): Readonly<Record<string, unknown>> {
  if (isPlainObject(value)) return value;
  throw invalid(pointer, 'must be an object');
}

function listIn(value: unknown, pointer: string): readonly unknown[] {
  if (!isThere(value)) return [];
  if (Array.isArray(value)) return value;
  throw invalid(pointer, 'must be a list');
}

function textIn(value: unknown, pointer: string): string {
  if (!isThere(value)) return '';
  if (typeof value === 'string') return value;
  throw invalid(pointer, 'must be a text');
}

function hitsIn({ hitsAddend, hits_addend = hitsAddend }: Readonly<Record<string, unknown>>, pointer: string): number | undefined {
  return numberIn(hits_addend, `${pointer}/hits_addend`);
}

/** A number or a text with one; undefined if there is none. */
function numberIn(value: unknown, pointer: string): number | undefined {
  if (!isThere(value)) return undefined;
  const number = typeof value === 'number' || (typeof value === 'string' && /^\d{1,20}$/.test(value)) ? Number(value) : NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw invalid(pointer, 'must be a whole number from 0');
}
