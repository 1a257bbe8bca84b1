import { MessageWriter } from './message-writer.js';

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

export function writtenCheckResponse(message: object): Uint8Array {
  const { allowed, reason, status, limit, limits, retryAfter, wait, headers, claim } = message as CheckResponseMessage;
  const writer = new MessageWriter();
  writer.truth(1, allowed);
  writer.text(2, reason);
  writer.number(3, status);
  if (limit !== undefined) limitMessage(writer, 4, limit);
  for (const each of limits) limitMessage(writer, 5, each);
  duration(writer, 6, retryAfter);
  duration(writer, 7, wait);
  for (const { name, value } of headers) pair(writer, 8, name, value);
  writer.text(9, claim);
  return writer.finish();
}

function limitMessage(
  writer: MessageWriter,
  field: number,
  { rule, name, allowed, limit, remaining, retryAfter, resetAfter }: LimitMessage,
): void {
  const start = writer.open(field);
  writer.text(1, rule);
  writer.text(2, name);
  writer.truth(3, allowed);
  writer.number(4, limit);
  writer.number(5, remaining);
  duration(writer, 6, retryAfter);
  duration(writer, 7, resetAfter);
  writer.close(start);
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
  const writer = new MessageWriter();
  writer.number(1, CODES[overallCode]);
  for (const status of statuses) statusMessage(writer, status);
  for (const { key, value } of responseHeadersToAdd) pair(writer, 3, key, value);
  if (rawBody !== undefined) writer.data(5, rawBody);
  return writer.finish();
}

function statusMessage(writer: MessageWriter, { code, currentLimit, limitRemaining, durationUntilReset }: StatusMessage): void {
  const start = writer.open(2);
  writer.number(1, CODES[code]);
  if (currentLimit !== undefined) {
    const limit = writer.open(2);
    writer.number(1, currentLimit.requestsPerUnit);
    writer.number(2, UNITS[currentLimit.unit]!);
    writer.text(3, currentLimit.name);
    writer.close(limit);
  }
  writer.number(3, limitRemaining);
  duration(writer, 4, durationUntilReset);
  writer.close(start);
}

/** A message of two texts: a header. */
function pair(writer: MessageWriter, field: number, name: string, value: string): void {
  const start = writer.open(field);
  writer.text(1, name);
  writer.text(2, value);
  writer.close(start);
}

function duration(writer: MessageWriter, field: number, value: DurationMessage | undefined): void {
  if (value === undefined) return;
  const start = writer.open(field);
  writer.number(1, value.seconds);
  writer.number(2, value.nanos);
  writer.close(start);
}
