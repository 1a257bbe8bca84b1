import type { ClaimOutcome } from '#enforcement';
import type { RetryAfter } from '#limiter';
import type { Logger } from '#platform';
import type { CallerLimit } from '../callers/caller-limit.js';
import { CHECK_FIELDS } from '../decisions/check-fields.js';
import type { CheckRequest } from '../decisions/check-request.js';
import type { LimitDecision, MadeDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { answerFacts, REFUND_FIELDS, SETTLEMENT_FIELDS } from '../http/claim-calls.js';
import { validObject } from '../http/valid-body.js';
import { GrpcCode, GrpcError, grpcErrorOf } from './grpc-error.js';
import type { GrpcCall, Handlers } from './grpc-server.js';
import { readCheckRequest } from './request-readers.js';
import { type CheckResponseMessage, writtenCheckResponse } from './response-writers.js';
import { durationOf, jsonOf, objectOf, type ProtobufStruct, type ProtobufValue } from './json-values.js';

interface Header {
  readonly name: string;
  readonly value: string;
}

/** tollgate.v1.CheckRequest. What was not sent is empty. */
interface CheckMessage {
  readonly merchant: string;
  readonly user: string;
  readonly apiKey: { readonly id: string; readonly labels: Readonly<Record<string, string>> } | null;
  readonly ip: string;
  readonly country: string;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: readonly Header[];
  readonly jwt: ProtobufStruct | null;
  readonly body: ProtobufValue | null;
  readonly cost?: number;
  readonly wantClaim: boolean;
}

interface StreamMessage {
  readonly id: string;
  readonly request: CheckMessage | null;
}

interface SettleMessage {
  readonly claim: string;
  readonly answer: { readonly status: number; readonly headers: readonly Header[]; readonly body: ProtobufValue | null } | null;
}

export interface DecisionServiceOptions {
  readonly decisions: Decisions;
  readonly limit: CallerLimit;
  readonly logger: Pick<Logger, 'error'>;
}

/** tollgate.v1.DecisionService: the calls of /v1/check, /v1/refund and /v1/settle in another form, checked by the same tables. */
export function decisionService({ decisions, limit, logger }: DecisionServiceOptions): Handlers {
  const check = (message: CheckMessage, call: GrpcCall, answered: (outcome: object | Error) => void): void => {
    const request = checkRequestOf(message);
    limit.demand(call.caller, 1);
    const tell = (decision: MadeDecision | Error): void => {
      if (decision instanceof Error) return answered(decision);
      // Nobody will use what was taken. What has a claim is found by nobody either.
      if (call.isOver()) givenBack(decisions, decision);
      answered(orError(() => responseOf(decision)));
    };
    if (request.wantClaim === true) decisions.check(request, call.requestId).then(tell, tell);
    else decisions.checkThen(request, call.requestId, tell);
  };
  return {
    quick: { Check: check },
    unary: {
      Refund: async ({ claim }: { readonly claim: string }, call: GrpcCall) => {
        const fields = validObject({ claim }, REFUND_FIELDS);
        limit.demand(call.caller, 1);
        return { outcome: outcomeOf(await decisions.refund(fields.claim)) };
      },
      Settle: async (message: SettleMessage, call: GrpcCall) => {
        const { claim, response } = validObject(settlementOf(message), SETTLEMENT_FIELDS);
        limit.demand(call.caller, 1);
        return { outcome: outcomeOf(await decisions.settle(claim, response && answerFacts(response))) };
      },
    },
    readers: { Check: readCheckRequest },
    writers: { Check: writtenCheckResponse },
    streams: {
      CheckStream: async ({ id, request }: StreamMessage, call: GrpcCall) => {
        try {
          if (request === null) throw new GrpcError(GrpcCode.InvalidArgument, 'the message has no request', 'field.missing');
          return { id, response: await new Promise<object>((resolve, reject) => check(request, call, settling(resolve, reject))) };
        } catch (error) {
          const { code, message } = grpcErrorOf(error, logger);
          return { id, error: { code, message } };
        }
      },
    },
  };
}

/** The enforcer calls back for others, too, so nothing is thrown at it. */
function orError(make: () => object): object | Error {
  try {
    return make();
  } catch (error) {
    return error as Error;
  }
}

function settling(resolve: (message: object) => void, reject: (error: Error) => void): (outcome: object | Error) => void {
  return (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
}

/** What cannot be given back stays taken. */
function givenBack(decisions: Decisions, decision: MadeDecision): void {
  if (decision.claim === undefined) decisions.giveBack(decision);
  else decisions.refund(decision.claim).catch(() => {});
}

/** @throws ProblemError */
function checkRequestOf(message: CheckMessage): CheckRequest {
  const { apiKey, headers, jwt, body, cost, wantClaim } = message;
  const given: Record<string, unknown> = {};
  for (const name of TEXTS) if (message[name] !== '') given[name] = message[name];
  if (apiKey) given['apiKey'] = { id: apiKey.id, labels: apiKey.labels };
  if (headers.length > 0) given['headers'] = headersOf(headers);
  if (jwt) given['jwt'] = objectOf(jwt);
  if (body) given['body'] = jsonOf(body);
  if (cost !== undefined) given['cost'] = cost;
  if (wantClaim) given['wantClaim'] = true;
  return validObject(given, CHECK_FIELDS);
}

const TEXTS = ['merchant', 'user', 'ip', 'country', 'method', 'path', 'host'] as const;

function settlementOf({ claim, answer }: SettleMessage): Record<string, unknown> {
  if (answer === null) return { claim };
  const { status, headers, body } = answer;
  return { claim, response: { status, headers: headersOf(headers), ...(body && { body: jsonOf(body) }) } };
}

/** Each name with all of its values. */
function headersOf(headers: readonly Header[]): Record<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const { name, value } of headers) {
    const values = byName.get(name);
    if (values === undefined) byName.set(name, [value]);
    else values.push(value);
  }
  return Object.fromEntries(byName);
}

function responseOf(decision: MadeDecision): CheckResponseMessage {
  const { allowed, reason, status, rule, limits, retryAfterMs, waitMs, claim = '' } = decision;
  const tightest = limits.find((each) => each.rule === rule && each.remaining === decision.remaining && each.limit === decision.limit);
  return {
    allowed,
    reason,
    status,
    limit: tightest && limitOf(tightest),
    limits: limits.map(limitOf),
    retryAfter: waitOf(retryAfterMs),
    wait: waitMs > 0 ? durationOf(waitMs) : undefined,
    headers: headerList(decision.headers),
    claim,
  };
}

function limitOf({
  rule,
  name,
  allowed,
  limit,
  remaining,
  retryAfterMs,
  resetAfterMs,
}: LimitDecision): CheckResponseMessage['limits'][number] {
  return { rule, name, allowed, limit, remaining, retryAfter: waitOf(retryAfterMs), resetAfter: durationOf(resetAfterMs) };
}

function waitOf(retryAfterMs: RetryAfter | 'unknown'): ReturnType<typeof durationOf> | undefined {
  return typeof retryAfterMs === 'number' ? durationOf(retryAfterMs) : undefined;
}

function headerList(headers: readonly string[]): Header[] {
  return Array.from({ length: headers.length / 2 }, (_, i) => ({ name: headers[2 * i]!, value: headers[2 * i + 1]! }));
}

const OUTCOMES = {
  refunded: 'CLAIM_OUTCOME_REFUNDED',
  settled: 'CLAIM_OUTCOME_SETTLED',
  not_found: 'CLAIM_OUTCOME_NOT_FOUND',
  ended_before: 'CLAIM_OUTCOME_ENDED_BEFORE',
} as const;

function outcomeOf({ outcome }: ClaimOutcome): string {
  return OUTCOMES[outcome];
}
