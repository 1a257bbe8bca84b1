import { ProblemError } from '#platform';

/** Problems that more than one door of the decision API answers. By gRPC they are statuses with the same code: see `grpcErrorOf`. */

/** What a door is asked by proxies only. @param door in whose codes it is told */
export function untrustedPeer(door: 'forward_auth' | 'ext_authz'): ProblemError {
  return new ProblemError({
    status: 403,
    code: `${door}.untrusted_peer`,
    detail: 'this is asked by proxies in TRUSTED_PROXIES only, because what they say of a request is believed',
  });
}

export function claimUnavailable(): ProblemError {
  return unavailable(
    'claim.unavailable',
    'the claim cannot be ended at the moment, and perhaps it has ended: ask again, which does no harm',
  );
}

export function rulesUnavailable(): ProblemError {
  return unavailable('rules.unavailable', 'the rules cannot be read at the moment');
}

export function tooManyBodies(): ProblemError {
  return unavailable('decision_api.too_many_bodies', 'too many bodies of calls are in memory: ask again later, and fewer at a time');
}

export function tooManyCalls(): ProblemError {
  return unavailable('decision_api.too_many_calls', 'too many calls are under way: ask again later, and fewer at a time');
}

export function tooManyWaiting(): ProblemError {
  return unavailable('wait.too_many', 'too many calls wait for tokens, in all or for this merchant; nothing was taken');
}

/** It passes by itself, soon. */
function unavailable(code: string, detail: string): ProblemError {
  return new ProblemError({ status: 503, type: 'temporary-reduced-capacity', code, detail, headers: { 'retry-after': '1' } });
}
