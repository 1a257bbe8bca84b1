import * as fc from 'fast-check';
import { runs } from '#limiter/testing';
import { durationOf } from './json-values.js';
import { serviceNamed } from './protos.js';
import { writtenCheckResponse, writtenRateLimitResponse } from './response-writers.js';

const aText = fc.oneof(fc.string(), fc.constantFrom('', 'é €', '😀', 'x'.repeat(300)));
const aCount = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 32 - 1));
const aLargeCount = fc.oneof(aCount, fc.constantFrom(2 ** 32, Number.MAX_SAFE_INTEGER));
const aDuration = fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e12, noNaN: true })).map(durationOf);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const aLimit = fc.record({
  rule: aText,
  name: aText,
  allowed: fc.boolean(),
  limit: aLargeCount,
  remaining: aLargeCount,
  retryAfter: maybe(aDuration),
  resetAfter: maybe(aDuration),
});

const checkResponses = fc.record({
  allowed: fc.boolean(),
  reason: aText,
  status: aCount,
  limit: maybe(aLimit),
  limits: fc.array(aLimit, { maxLength: 3 }),
  retryAfter: maybe(aDuration),
  wait: maybe(aDuration),
  headers: fc.array(fc.record({ name: aText, value: aText }), { maxLength: 3 }),
  claim: aText,
});

const aCode = fc.constantFrom('OK', 'OVER_LIMIT');
const aUnit = fc.constantFrom('UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR');
const rateLimitResponses = fc.record({
  overallCode: aCode,
  statuses: fc.array(
    fc.record(
      {
        code: aCode,
        currentLimit: fc.record({ name: aText, requestsPerUnit: aCount, unit: aUnit }),
        limitRemaining: aCount,
        durationUntilReset: aDuration,
      },
      { requiredKeys: ['code', 'limitRemaining'] },
    ),
    { maxLength: 3 },
  ),
  responseHeadersToAdd: fc.array(fc.record({ key: aText, value: aText }), { maxLength: 3 }),
  rawBody: maybe(fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.from(bytes))),
});

test.each<[string, fc.Arbitrary<object>, (message: object) => Uint8Array, string, string]>([
  ['a check', checkResponses, writtenCheckResponse, 'tollgate.v1.DecisionService', 'Check'],
  ['Envoy', rateLimitResponses, writtenRateLimitResponse, 'envoy.service.ratelimit.v3.RateLimitService', 'ShouldRateLimit'],
])('the answer to %s is what protobufjs writes for it', (_what, messages, written, service, method) => {
  const { responseSerialize } = serviceNamed(service)[method]!;
  fc.assert(
    fc.property(messages, (message) => expect(Buffer.from(written(message)).equals(responseSerialize(message))).toBe(true)),
    runs(60),
  );
});
