import { createPathReader, type HeadersOf, type Trust } from '#edge';
import type { Enforcer } from '#enforcement';
import type { Config } from '#platform';
import type { CallerLimit } from '../callers/caller-limit.js';
import { Decisions } from '../decisions/decisions.js';
import type { Waiters } from '../decisions/waiters.js';
import { jsonCall } from '../envoy/json-call.js';
import type { LimitOverrides } from '../envoy/limit-overrides.js';
import { EXT_AUTHZ_PREFIX } from '../envoy/prefixed-request.js';
import { batchCall } from './batch-call.js';
import type { Routes } from './call.js';
import { checkCall } from './check-call.js';
import { refundCall, settleCall } from './claim-calls.js';
import { extAuthzCall } from './ext-authz-call.js';
import { forwardAuthCall } from './forward-auth-call.js';
import { waitCall } from './wait-call.js';
import { documentCall } from '../openapi/document-call.js';

export interface RouteDependencies {
  readonly decisions: Decisions;
  /** The same, for requests that nobody rewrites. */
  readonly strictDecisions: Decisions;
  readonly waiters: Waiters;
  readonly limit: CallerLimit;
  readonly headersOf: HeadersOf;
  readonly trusts: Trust;
  readonly overrides: LimitOverrides;
}

/** All calls by HTTP. */
export function createRoutes({ decisions, strictDecisions, waiters, limit, headersOf, trusts, overrides }: RouteDependencies): Routes {
  const door = { decisions: strictDecisions, limit, headersOf };
  return {
    '/v1/check': checkCall(decisions, limit, headersOf),
    '/v1/check/batch': batchCall(decisions, limit),
    '/v1/refund': refundCall(decisions, limit),
    '/v1/settle': settleCall(decisions, limit),
    '/v1/wait': waitCall(waiters, limit),
    '/openapi.json': documentCall(limit),
    '/json': jsonCall(decisions, limit, headersOf, overrides),
    '/v1/forward-auth': forwardAuthCall(door, trusts),
    [`${EXT_AUTHZ_PREFIX}/**`]: extAuthzCall(door, trusts),
  };
}

/** @param strict whether a path that servers read in different ways is refused, whatever PATH_POLICY says */
export function createDecisions(enforcer: Enforcer, headersOf: HeadersOf, config: Config<'decision-api'>, strict: boolean): Decisions {
  const { pathPolicy, pathPolicyExceptions: exceptions, pathCaseSensitive, decisionApiClaimMs: claimMs } = config;
  const readPath = createPathReader({ policy: strict ? 'strict' : pathPolicy, exceptions });
  return new Decisions({ enforcer, headersOf, readPath, pathCaseSensitive, claimMs });
}
