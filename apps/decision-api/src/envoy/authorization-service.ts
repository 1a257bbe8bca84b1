import { setTimeout as sleep } from 'node:timers/promises';
import { type HeadersOf, KnownAddresses, type Trust } from '#edge';
import { problemBody, ProblemError } from '#platform';
import type { CallerLimit } from '../callers/caller-limit.js';
import { refusalOfDecision } from '../decisions/decision.js';
import { type Decisions, PathRefusedError } from '../decisions/decisions.js';
import { GrpcCode } from '../grpc/grpc-error.js';
import type { GrpcCall, Handlers } from '../grpc/grpc-server.js';
import { untrustedPeer } from '../problems.js';
import { type AttributeContext, authorizedRequest } from './authorized-request.js';

export interface AuthorizationServiceOptions {
  /** By paths that nobody rewrites: Envoy passes on what it was asked. */
  readonly strictDecisions: Decisions;
  readonly limit: CallerLimit;
  readonly headersOf: HeadersOf;
  readonly trusts: Trust;
}

/** envoy.service.auth.v3.Authorization, for Envoy's filter ext_authz: it passes, or it is answered as a gateway would refuse it. */
export function authorizationService({ strictDecisions, limit, headersOf, trusts }: AuthorizationServiceOptions): Handlers {
  const known = new KnownAddresses(trusts);
  return {
    unary: {
      Check: async ({ attributes }: { readonly attributes: AttributeContext | null }, call: GrpcCall) => {
        if (known.lookUp(call.peer)?.trusted !== true) throw untrustedPeer('ext_authz');
        limit.demand(call.caller, 1);
        try {
          const request = authorizedRequest(attributes, known);
          const decision = await strictDecisions.check(request, call.requestId);
          if (!decision.allowed) return denied(refusalOfDecision(decision, call.requestId, headersOf));
          if (decision.waitMs > 0) await sleep(decision.waitMs);
          if (call.isOver()) strictDecisions.giveBack(decision);
          return { status: { code: 0 }, okResponse: { responseHeadersToAdd: options(decision.headers) } };
        } catch (error) {
          if (error instanceof PathRefusedError) return denied(error.problem.answer(call.requestId));
          // The fault of the request, not of the call: an error would be for failure_mode_allow to say.
          if (error instanceof ProblemError) return denied(refusalByProblem(error, call.requestId));
          throw error;
        }
      },
    },
  };
}

function refusalByProblem(problem: ProblemError, requestId: string): Refusal {
  const { status, headers } = problem;
  return { status, headers: Object.entries(headers).flat(), body: JSON.stringify({ ...problemBody(problem), requestId }) };
}

interface Refusal {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

function denied({ status, headers, body }: Refusal): object {
  return {
    status: { code: status === 429 ? GrpcCode.ResourceExhausted : GrpcCode.PermissionDenied },
    deniedResponse: { status: { code: status }, headers: options(['Content-Type', 'application/problem+json', ...headers]), body },
  };
}

function options(headers: readonly string[]): object[] {
  return Array.from({ length: headers.length / 2 }, (_, i) => ({
    header: { key: headers[2 * i], value: headers[2 * i + 1] },
    appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD',
  }));
}
