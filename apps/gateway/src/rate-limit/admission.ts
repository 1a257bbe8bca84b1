import { type HeadersOf, isPreflight, rateLimitHeaders, refusalOf, refusalWithoutVerdict, REROUTED } from '#edge';
import { isVerdict, type Enforcer, type Outcome } from '#enforcement';
import { BY_HEADER, type CredentialReader, type Named } from '../identity/index.js';
import type { Descriptor } from '#limiter';
import type { Admission, Admit, RequestTrace } from '../proxy/index.js';
import type { Describe } from './describe.js';
import type { IdentityRefusal } from './identity-refusals.js';
import { PreflightCounts } from './preflight.js';

type Request = Parameters<Admit>[0];

export interface AdmissionDependencies {
  readonly describe: Describe;
  readonly enforcer: Pick<Enforcer, 'check' | 'countUndescribed'>;
  readonly identityRefusal: IdentityRefusal;
  /** Finds out whom a credential names, where X-Merchant-Id is not the only way. */
  readonly readCredential?: CredentialReader<Request, Named | typeof BY_HEADER> | undefined;
  /** How headers tell of limits; as the draft does unless given. */
  readonly headersOf?: HeadersOf;
  /** Counts preflight requests; nobody does unless given. */
  readonly preflights?: PreflightCounts;
}

/** Decides about every request of the gateway: who is asking, may it pass, and what is answered. */
export function createAdmit(dependencies: AdmissionDependencies): Admit {
  const {
    describe,
    enforcer,
    identityRefusal,
    readCredential,
    headersOf = rateLimitHeaders,
    preflights = new PreflightCounts(),
  } = dependencies;
  const answerOf = (outcome: Outcome, requestId: string): Admission => admissionOf(outcome, requestId, headersOf);
  const admit: Admit = (request, done) => {
    const descriptor = describe(request);
    const preflight = isPreflight(request);
    if (preflight && 'problem' in descriptor && descriptor.problem === 'no_identity') {
      preflights.anonymous++;
      done(OF_NOBODY);
      return;
    }
    if (preflight) preflights.named++;
    if ('problem' in descriptor) {
      enforcer.countUndescribed(descriptor.problem, request.requestId);
      done(identityRefusal(descriptor.problem, request.requestId));
      return;
    }
    if (!request.belongsTo(descriptor.merchantId)) return;
    const { requestId, trace } = request;
    if (trace === undefined) enforcer.check(descriptor, (outcome) => done(answerOf(outcome, requestId)), requestId);
    else checkTraced(enforcer, descriptor, request, trace, (outcome) => done(answerOf(outcome, requestId)));
  };
  if (readCredential === undefined) return admit;
  return (request, done) =>
    readCredential(request, (named) => {
      if (named === BY_HEADER) return admit(request, done);
      if (typeof named === 'string') {
        enforcer.countUndescribed(named, request.requestId);
        done(identityRefusal(named, request.requestId));
        return;
      }
      request.caller = named;
      admit(request, done);
    });
}

/** The request counts for its peer, which has a share of what is under way and of the upstream. No rule applies where there is no merchant. */
const OF_NOBODY: Admission = { forward: true, responseHeaders: [] };

function checkTraced(
  enforcer: AdmissionDependencies['enforcer'],
  descriptor: Descriptor,
  { requestId }: Request,
  trace: RequestTrace,
  done: (outcome: Outcome) => void,
): void {
  trace.checking();
  const answered = (outcome: Outcome): void => {
    trace.checked(outcome.reason, isVerdict(outcome) ? outcome.source : 'none');
    done(outcome);
  };
  enforcer.check(descriptor, answered, requestId, trace);
}

function admissionOf(outcome: Outcome, requestId: string, headersOf: HeadersOf): Admission {
  if (!isVerdict(outcome)) return refusalWithoutVerdict(outcome.reason, requestId);
  if (!outcome.allowed) return refusalOf(outcome, requestId, headersOf);
  const { reservations, limits, waitMs, reroutedTo } = outcome;
  const responseHeaders = headersOf(limits);
  if (reroutedTo === undefined) return { forward: true, responseHeaders, waitMs, reservations };
  return { forward: true, responseHeaders: [...responseHeaders, REROUTED, reroutedTo], reroutedTo };
}
