import { ProblemError } from '#platform';

/** Why a bearer may not do something: a code and a sentence. */
export type Refusal = readonly [code: string, detail: string];

export const LIMITED_TO_OTHERS: Refusal = ['token.limited_to_others', 'your token is limited to other merchants'];
export const CONCERNS_OTHERS: Refusal = ['token.limited', 'your token is limited to merchants, and this concerns others as well'];

export const OPENS_ONLY_ME: Refusal = ['api_key.only_for_me', 'an API key of a merchant is good for /v1/me, and for nothing else here'];
export const NO_MERCHANT: Refusal = [
  'api_key.needed',
  'this shows a merchant what is its own: it needs an API key of a merchant, and no token',
];

export function forbidden([code, detail]: Refusal): ProblemError {
  return new ProblemError({ status: 403, type: 'forbidden', code, detail });
}

/** For a call whose body or query names the merchant. @param among the merchants to which the bearer is limited; null: all. @throws ProblemError 403 */
export function demandAmong(merchantId: string, among: readonly string[] | null): void {
  if (among !== null && !among.includes(merchantId)) throw forbidden(LIMITED_TO_OTHERS);
}

/** For what belongs to one merchant, or to all of them: null. @throws ProblemError 403 */
export function demandVisible(merchantId: string | null, among: readonly string[] | null): void {
  if (merchantId !== null) demandAmong(merchantId, among);
  else if (among !== null) throw forbidden(CONCERNS_OTHERS);
}
