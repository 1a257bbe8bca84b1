import { isIP } from 'node:net';
import { canonicalAddress } from '#addresses';
import {
  createClientOf,
  createIdentifier,
  createPathReader,
  createTrust,
  type Identity,
  identityRefusal,
  isPreflight,
  rawValues,
  type Refusal,
  type RetriedRequest,
  retryKeyOf,
  TARGET_FORM,
  unidentified,
} from '#edge';
import { type Descriptor, isMerchantId, line } from '#limiter';
import type { PathException } from '#platform';
import { bodyLengthOf, MessageFacts } from './message-facts.js';
import type { Asked, NodeRequest } from './node-http.js';
import { isCost } from './option-fields.js';
import type { RequestOptions } from './options.js';

/** What a client is answered that does not get through. */
export type Answer = Omit<Refusal, 'forward'>;

/** The facts of a request, or why there are none: it is to be refused, or nobody has to decide about it. */
export type Described = { readonly descriptor: Descriptor } | { readonly refused: Answer; readonly problem?: string } | 'not_decided';

/** What belongs to the route of a request. */
export interface AskedRoute {
  readonly requests: RequestOptions;
  readonly route?: string | undefined;
}

export type Describe = (asked: Asked, route: AskedRoute, requestId: string) => Described;

export interface DescribeOptions {
  readonly trustedProxies: readonly string[];
  readonly exceptions: readonly PathException[];
  /** 0: retries are requests like any other. */
  readonly idempotencyWindowMs: number;
}

const USER = line(128);
const COUNTRY = /^[A-Z]{2}$/;
const DECIMAL_ID = /^[1-9]\d{0,18}$/;
const NO_MERCHANT =
  'The request does not say for which merchant it is. This service reads the header X-Merchant-Id from a trusted address.';
const NO_MERCHANT_FOUND = 'The request does not say for which merchant it is.';

/** The one step from a request of a service to a descriptor. It throws what the functions of the options throw, and a TypeError where one answers nonsense. */
export function createDescribe({ trustedProxies, exceptions, idempotencyWindowMs }: DescribeOptions): Describe {
  const trusts = createTrust(trustedProxies);
  const identify = createIdentifier({ trusts });
  const clientOf = createClientOf({ trusts });
  // A service routes by what it was sent, so what is ambiguous cannot be rewritten for it.
  const readPath = createPathReader({ policy: 'strict', exceptions });

  const identityOf = ({ seen, request }: Asked, { merchant, user }: RequestOptions): Identity => {
    const peer = canonicalAddress(request.socket.remoteAddress ?? '');
    const source = { head: identityHeaders(request.rawHeaders), peer, trusted: trusts(peer) };
    if (merchant === undefined) return identify(source);
    const ip = clientOf(source);
    const merchantId = typeof merchant === 'function' ? toldText(merchant(seen), 'merchant') : merchant;
    if (merchantId === undefined) return { problem: 'no_identity', ip };
    if (!isMerchantId(merchantId)) return { problem: 'invalid_identity', ip };
    const named = user && toldText(user(seen), 'user');
    if (named === undefined) return { merchantId, ip };
    return USER.fault(named) === undefined ? { merchantId, user: named, ip } : { problem: 'invalid_user', ip };
  };

  return (asked, { requests, route }, requestId) => {
    const { seen, request } = asked;
    if (isSkipped(requests, seen)) return 'not_decided';
    const target = asked.target.startsWith('/') ? readPath(asked.target) : TARGET_FORM;
    if (typeof target !== 'string') return { refused: target.answer(requestId) };
    const identity = identityOf(asked, requests);
    if ('problem' in identity) {
      const { problem } = identity;
      if (problem === 'no_identity' && isPreflightRequest(request)) return 'not_decided';
      return { refused: refusalOf(problem, requests, requestId), problem };
    }
    const retryKey = idempotencyWindowMs === 0 ? undefined : retryKeyOf(retriedRequest(request, target));
    return { descriptor: { ...descriptorOf(asked, { target, identity, requests, route }), retryKey } };
  };
}

interface Found extends AskedRoute {
  readonly target: string;
  readonly identity: Exclude<Identity, { problem: unknown }>;
}

function descriptorOf(asked: Asked, { target, identity, requests, route }: Found): Descriptor {
  const { seen, request, body, ignorePathCase } = asked;
  const { merchantId, user, ip } = identity;
  const address = requests.ip && toldText(requests.ip(seen), 'ip');
  const told = requests.country && toldText(requests.country(seen), 'country');
  const country = told !== undefined && COUNTRY.test(told) ? told : undefined;
  const claims = requests.jwt?.(seen);
  return {
    merchantId,
    ip: requests.ip === undefined ? ip : canonicalIp(address),
    method: request.method ?? '',
    target,
    ignorePathCase,
    user,
    apiKey: apiKeyOf(requests, seen),
    jwt: claims && JSON.stringify(claims),
    times: timesOf(requests, seen),
    more: new MessageFacts(request, { route, country, body }),
  };
}

/** Frameworks may know nothing better than a text that is no address: that is none. */
function canonicalIp(address: string | undefined): string {
  return address === undefined || isIP(address) === 0 ? '' : canonicalAddress(address);
}

function identityHeaders(rawHeaders: readonly string[]) {
  const merchants = rawValues(rawHeaders, 'x-merchant-id');
  const users = rawValues(rawHeaders, 'x-user-id');
  return {
    merchantIds: merchants.length,
    merchantId: merchants.at(-1) ?? '',
    userIds: users.length,
    userId: users.at(-1) ?? '',
    forwardedFor: rawValues(rawHeaders, 'x-forwarded-for').join(','),
  };
}

function retriedRequest(request: NodeRequest, target: string): RetriedRequest {
  const { method = '', rawHeaders } = request;
  return { method, target, head: { bodyLength: bodyLengthOf(request) }, receivedValues: (name) => rawValues(rawHeaders, name) };
}

function isPreflightRequest(request: NodeRequest): boolean {
  return isPreflight(retriedRequest(request, ''));
}

type IdentityProblem = Extract<Identity, { problem: unknown }>['problem'];

/** In the words of a gateway where the headers say it; a function of the service has said something of its own. */
function refusalOf(problem: IdentityProblem, { merchant }: RequestOptions, requestId: string): Answer {
  if (merchant === undefined) return identityRefusal(problem, NO_MERCHANT, requestId);
  if (problem === 'no_identity') return identityRefusal(problem, NO_MERCHANT_FOUND, requestId);
  return unidentified(400, problem === 'invalid_user' ? BAD_USER : BAD_MERCHANT, requestId);
}

const BAD_MERCHANT = [
  'identity.malformed',
  'What the request says of its merchant is no merchant id: 1 to 128 characters, no control characters.',
] as const;
const BAD_USER = [
  'identity.user_malformed',
  'What the request says of its user is no user: 1 to 128 characters, no control characters.',
] as const;

function isSkipped({ skip }: RequestOptions, seen: unknown): boolean {
  return typeof skip === 'function' ? skip(seen) === true : skip === true;
}

function timesOf({ cost }: RequestOptions, seen: unknown): number | undefined {
  const times = typeof cost === 'function' ? cost(seen) : cost;
  if (times === undefined || times === 1) return undefined;
  if (!isCost(times)) throw new TypeError('the function cost of tollgate must answer a whole number from 0 to 1000000000');
  return times;
}

function apiKeyOf({ apiKey }: RequestOptions, seen: unknown): Descriptor['apiKey'] {
  const key = apiKey?.(seen);
  if (key === undefined) return undefined;
  if (typeof key.id !== 'string' || !DECIMAL_ID.test(key.id))
    throw new TypeError('the function apiKey of tollgate must answer the id of an API key, a decimal number as text, and never the key');
  return key;
}

function toldText(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new TypeError(
    `the function ${name} of tollgate must answer a text at once, or undefined; what takes longer belongs into a middleware before`,
  );
}
