import { isVerdict, type Enforcer, type NoVerdictReason, type Outcome } from '#enforcement';
import type { ByApiKey } from '../identity/index.js';
import type { Descriptor } from '#limiter';
import type { Admission, Admit, RequestTrace } from '../proxy/index.js';
import type { Describe } from './describe.js';
import { rateLimitHeaders } from './rate-limit-headers.js';
import { apiKeyRefusal, identityRefusal, refusalOf, unavailable, unknownMerchant } from './refusals.js';

type Request = Parameters<Admit>[0];

export interface AdmissionDependencies {
  readonly describe: Describe;
  readonly enforcer: Pick<Enforcer, 'check' | 'countUndescribed'>;
  /** Finds out who is known by an API key, where callers are. */
  readonly readKey?: ((request: Request, done: (found: ByApiKey) => void) => void) | undefined;
  /** Whether X-Merchant-Id comes first: then the API key is looked at only where there is none. */
  readonly headerFirst?: boolean;
}

/** Decides about every request of the gateway: who is asking, may it pass, and what is answered. */
export function createAdmit({ describe, enforcer, readKey, headerFirst = false }: AdmissionDependencies): Admit {
  const admit: Admit = (request, done) => {
    const descriptor = describe(request);
    if ('problem' in descriptor) {
      enforcer.countUndescribed(descriptor.problem, request.requestId);
      done(identityRefusal(descriptor.problem, request.requestId));
      return;
    }
    if (!request.belongsTo(descriptor.merchantId)) return;
    const { requestId, trace } = request;
    if (trace === undefined) enforcer.check(descriptor, (outcome) => done(admissionOf(outcome, requestId)), requestId);
    else checkTraced(enforcer, descriptor, request, trace, done);
  };
  if (readKey === undefined) return admit;
  return (request, done) => {
    if (headerFirst && request.head.merchantIds > 0) return admit(request, done);
    readKey(request, (found) => {
      if (typeof found === 'string') {
        enforcer.countUndescribed(found, request.requestId);
        done(apiKeyRefusal(found, request.requestId));
        return;
      }
      request.caller = found;
      admit(request, done);
    });
  };
}

function checkTraced(
  enforcer: AdmissionDependencies['enforcer'],
  descriptor: Descriptor,
  { requestId }: Request,
  trace: RequestTrace,
  done: (admission: Admission) => void,
): void {
  trace.checking();
  const answered = (outcome: Outcome): void => {
    trace.checked(outcome.reason, isVerdict(outcome) ? outcome.source : 'none');
    done(admissionOf(outcome, requestId));
  };
  enforcer.check(descriptor, answered, requestId, trace);
}

const WITHOUT_VERDICT: Record<NoVerdictReason, (requestId: string) => Admission> = {
  unknown_merchant: unknownMerchant,
  too_many_unknown: (requestId) =>
    unavailable(
      'rules.too_many_lookups',
      'It cannot be said at the moment whether there is such a merchant: too many were asked for that do not exist.',
      requestId,
    ),
  rules_unavailable: (requestId) => unavailable('rules.unavailable', 'The rules of this merchant cannot be read at the moment.', requestId),
};

function admissionOf(outcome: Outcome, requestId: string): Admission {
  if (!isVerdict(outcome)) return WITHOUT_VERDICT[outcome.reason](requestId);
  if (!outcome.allowed) return refusalOf(outcome, requestId);
  const { reservations, limits, waitMs } = outcome;
  return { forward: true, responseHeaders: rateLimitHeaders(limits), waitMs, reservations };
}
