import { type Identifier, type IdentityProblem, type IdentitySource, type RetriedRequest, retryKeyOf } from '#edge';
import type { Descriptor, RequestFacts } from '#limiter';
import type { Caller } from '../identity/index.js';
import { type CountryOf, type CountrySources, FactsWithCountry } from './facts-with-country.js';

export interface DescribeOptions {
  readonly identify: Identifier;
  /** Whether rules tell upper from lower case in paths. */
  readonly pathCaseSensitive: boolean;
  /** The header in which trusted peers say the country of the client, in lower case; empty: none does. */
  readonly countryHeader: string;
  /** Whom else to ask for it. */
  readonly countryOf?: CountryOf | undefined;
  /** Whether retries are told by an Idempotency-Key; they are not unless given. */
  readonly knowsRetries?: boolean;
}

/**
 * What a descriptor is made from. The headers have been read already, once, and the peer's trust belongs to its connection. Other facts are asked for
 * by the rules that look at them.
 */
export interface DescribedRequest extends IdentitySource, RequestFacts, Pick<RetriedRequest, 'receivedValues'> {
  readonly caller?: Caller | null;
  readonly head: IdentitySource['head'] & RetriedRequest['head'];
  readonly method: string;
  /** As the path policy has left it. */
  readonly target: string;
}

/** The facts of a request that rules look at; or why it is not known whose request it is. */
export type Describe = (request: DescribedRequest) => Descriptor | { readonly problem: IdentityProblem };

/** The one step from a request to a descriptor: what a rule can look at comes from here, and is bounded here or before. */
export function createDescribe({ identify, pathCaseSensitive, countryHeader, countryOf, knowsRetries = false }: DescribeOptions): Describe {
  const believed: CountrySources | undefined =
    countryHeader === '' && countryOf === undefined ? undefined : { header: countryHeader, countryOf };
  const notBelieved: CountrySources | undefined = countryOf === undefined ? undefined : { header: '', countryOf };
  return (request) => {
    const identity = identify(request);
    if ('problem' in identity) return identity;
    const { merchantId, ip } = identity;
    const sources = request.trusted ? believed : notBelieved;
    const more = sources === undefined ? request : new FactsWithCountry(request, ip, sources);
    const { caller, method, target } = request;
    const user = caller?.user ?? identity.user;
    const apiKey = caller?.apiKey;
    const jwt = caller?.claims;
    const retryKey = knowsRetries ? retryKeyOf(request) : undefined;
    return { merchantId, ip, method, target, ignorePathCase: !pathCaseSensitive, user, apiKey, jwt, retryKey, more };
  };
}
