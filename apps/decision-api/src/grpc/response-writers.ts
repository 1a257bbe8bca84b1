import protobuf, { type Writer } from 'protobufjs';

/**
 * The answers to the two calls that are made most, written field by field, by the numbers that their published files give. What can write any message first makes it
 * into another object, which costs more than to write it. The bytes are the same.
 */

interface DurationMessage {
  readonly seconds: number;
  readonly nanos: number;
}

interface LimitMessage {
  readonly rule: string;
  readonly name: string;
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfter?: DurationMessage | undefined;
  readonly resetAfter?: DurationMessage | undefined;
}

/** tollgate.v1.CheckResponse. */
export interface CheckResponseMessage {
  readonly allowed: boolean;
  readonly reason: string;
  readonly status: number;
  readonly limit?: LimitMessage | undefined;
  readonly limits: readonly LimitMessage[];
  readonly retryAfter?: DurationMessage | undefined;
  readonly wait?: DurationMessage | undefined;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly claim: string;
}

/** Of fields with a number as their value, and of those with a length. */
const number = (field: number): number => field << 3;
const lengthed = (field: number): number => (field << 3) | 2;

export function writtenCheckResponse(message: object): Uint8Array {
  const { allowed, reason, status, limit, limits, retryAfter, wait, headers, claim } = message as CheckResponseMessage;
  const writer = protobuf.Writer.create();
  writer.uint32(number(1)).bool(allowed);
  text(writer, 2, reason);
  writer.uint32(number(3)).uint32(status);
  if (limit !== undefined) limitMessage(writer, 4, limit);
  for (const each of limits) limitMessage(writer, 5, each);
  duration(writer, 6, retryAfter);
  duration(writer, 7, wait);
  for (const { name, value } of headers) pair(writer, 8, name, value);
  text(writer, 9, claim);
  return writer.finish();
}

function limitMessage(
  writer: Writer,
  field: number,
  { rule, name, allowed, limit, remaining, retryAfter, resetAfter }: LimitMessage,
): void {
  writer.uint32(lengthed(field)).fork();
  text(writer, 1, rule);
  text(writer, 2, name);
  writer.uint32(number(3)).bool(allowed);
  writer.uint32(number(4)).uint64(limit);
  writer.uint32(number(5)).uint64(remaining);
  duration(writer, 6, retryAfter);
  duration(writer, 7, resetAfter);
  writer.ldelim();
}

interface StatusMessage {
  readonly code: keyof typeof CODES;
  readonly currentLimit?: { readonly name: string; readonly requestsPerUnit: number; readonly unit: string };
  readonly limitRemaining: number;
  readonly durationUntilReset?: DurationMessage | undefined;
}

/** envoy.service.ratelimit.v3.RateLimitResponse. */
export interface RateLimitResponseMessage {
  readonly overallCode: keyof typeof CODES;
  readonly statuses: readonly StatusMessage[];
  readonly responseHeadersToAdd: readonly { readonly key: string; readonly value: string }[];
  readonly rawBody?: Buffer | undefined;
}

const CODES = { OK: 1, OVER_LIMIT: 2 } as const;
const UNITS: Readonly<Record<string, number>> = { UNKNOWN: 0, SECOND: 1, MINUTE: 2, HOUR: 3, DAY: 4, MONTH: 5, YEAR: 6, WEEK: 7 };

export function writtenRateLimitResponse(message: object): Uint8Array {
  const { overallCode, statuses, responseHeadersToAdd, rawBody } = message as RateLimitResponseMessage;
  const writer = protobuf.Writer.create();
  writer.uint32(number(1)).int32(CODES[overallCode]);
  for (const status of statuses) statusMessage(writer, status);
  for (const { key, value } of responseHeadersToAdd) pair(writer, 3, key, value);
  if (rawBody !== undefined) writer.uint32(lengthed(5)).bytes(rawBody);
  return writer.finish();
}

function statusMessage(writer: Writer, { code, currentLimit, limitRemaining, durationUntilReset }: StatusMessage): void {
  writer.uint32(lengthed(2)).fork();
  writer.uint32(number(1)).int32(CODES[code]);
  if (currentLimit !== undefined) {
    writer.uint32(lengthed(2)).fork();
    writer.uint32(number(1)).uint32(currentLimit.requestsPerUnit);
    writer.uint32(number(2)).int32(UNITS[currentLimit.unit]!);
    text(writer, 3, currentLimit.name);
    writer.ldelim();
  }
  writer.uint32(number(3)).uint32(limitRemaining);
  duration(writer, 4, durationUntilReset);
  writer.ldelim();
}

function text(writer: Writer, field: number, value: string): void {
  writer.uint32(lengthed(field)).string(value);
}

/** A message of two texts: a header. */
function pair(writer: Writer, field: number, name: string, value: string): void {
  writer.uint32(lengthed(field)).fork();
  text(writer, 1, name);
  text(writer, 2, value);
  writer.ldelim();
}

function duration(writer: Writer, field: number, value: DurationMessage | undefined): void {
  if (value === undefined) return;
  writer.uint32(lengthed(field)).fork();
  writer.uint32(number(1)).int64(value.seconds);
  writer.uint32(number(2)).int32(value.nanos);
  writer.ldelim();
}
