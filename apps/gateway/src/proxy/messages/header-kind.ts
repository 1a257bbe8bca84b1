/** The headers that a proxy has to know. Everything else is `Other` and passes through as it came. */
export const HeaderKind = {
  Other: 0,
  Host: 1,
  ContentLength: 2,
  TransferEncoding: 3,
  Connection: 4,
  Upgrade: 5,
  /** Concerns one connection only, and is never forwarded: Keep-Alive, TE, Trailer, Expect, Proxy, Proxy-*, HTTP2-Settings. */
  HopByHop: 6,
  RequestId: 7,
  MerchantId: 8,
  ForwardedFor: 9,
  ForwardedProto: 10,
  ForwardedHost: 11,
  /** Says where a request came from in another way: Forwarded, X-Real-IP, the certificate of its client (RFC 9440) and the rest of X-Forwarded-*. */
  ForwardedOther: 12,
  /** What the limits say, in an answer. */
  RateLimit: 13,
  /**
   * Looks like one of the others once `_` is read as `-`, and is never forwarded: CGI and its descendants (WSGI, PHP, Rack)
   * turn both spellings into one variable, so that the one could stand in for the other.
   */
  LookAlike: 14,
  /** Names another path than the request line does; some frameworks serve that one. */
  OtherPath: 15,
  Authorization: 16,
  UserId: 17,
  /** X-Tollgate-*: what other doors of Tollgate say of a request, and no client. Rules that look at it would otherwise be chosen by clients. */
  OfOtherDoors: 18,
} as const;

export type HeaderKind = (typeof HeaderKind)[keyof typeof HeaderKind];

/**
 * The kind of a header by its name, in any case. This runs for every header of every request: first letter and length
 * sort out nearly all names before anything is lower-cased.
 */
export function headerKind(name: string): HeaderKind {
  if (!name.includes('_')) return kindOf(name);
  return kindOf(name.replaceAll('_', '-')) === HeaderKind.Other ? HeaderKind.Other : HeaderKind.LookAlike;
}

function kindOf(name: string): HeaderKind {
  switch (name.charCodeAt(0) | 0x20) {
    case 0x61: // a
      return name.length === 13 && is(name, 'authorization') ? HeaderKind.Authorization : HeaderKind.Other;
    case 0x63: // c
      if (name.length === 10) return is(name, 'connection') ? HeaderKind.Connection : HeaderKind.Other;
      if (name.length === 14) return is(name, 'content-length') ? HeaderKind.ContentLength : HeaderKind.Other;
      if (name.length === 11) return is(name, 'client-cert') ? HeaderKind.ForwardedOther : HeaderKind.Other;
      if (name.length === 17) return is(name, 'client-cert-chain') ? HeaderKind.ForwardedOther : HeaderKind.Other;
      return HeaderKind.Other;
    case 0x65: // e
      return name.length === 6 && is(name, 'expect') ? HeaderKind.HopByHop : HeaderKind.Other;
    case 0x66: // f
      return name.length === 9 && is(name, 'forwarded') ? HeaderKind.ForwardedOther : HeaderKind.Other;
    case 0x68: // h
      if (name.length === 4) return is(name, 'host') ? HeaderKind.Host : HeaderKind.Other;
      return name.length === 14 && is(name, 'http2-settings') ? HeaderKind.HopByHop : HeaderKind.Other;
    case 0x6b: // k
      return name.length === 10 && is(name, 'keep-alive') ? HeaderKind.HopByHop : HeaderKind.Other;
    case 0x70: // p
      return isProxyHeader(name) ? HeaderKind.HopByHop : HeaderKind.Other;
    case 0x72: // r
      return isRateLimitHeader(name) ? HeaderKind.RateLimit : HeaderKind.Other;
    case 0x74: // t
      if (name.length === 2) return is(name, 'te') ? HeaderKind.HopByHop : HeaderKind.Other;
      if (name.length === 7) return is(name, 'trailer') ? HeaderKind.HopByHop : HeaderKind.Other;
      return name.length === 17 && is(name, 'transfer-encoding') ? HeaderKind.TransferEncoding : HeaderKind.Other;
    case 0x75: // u
      return name.length === 7 && is(name, 'upgrade') ? HeaderKind.Upgrade : HeaderKind.Other;
    case 0x78: // x
      return name.length >= 9 ? kindOfExtension(name) : HeaderKind.Other;
    default:
      return HeaderKind.Other;
  }
}

function is(name: string, lowerCase: string): boolean {
  return name === lowerCase || name.toLowerCase() === lowerCase;
}

/** `Proxy` alone is no header at all, but CGI makes HTTP_PROXY of it, which HTTP clients take for their proxy (httpoxy). */
function isProxyHeader(name: string): boolean {
  if (name.length === 5) return is(name, 'proxy');
  if (name.length === 16) return is(name, 'proxy-connection');
  if (name.length === 18) return is(name, 'proxy-authenticate');
  return name.length === 19 && is(name, 'proxy-authorization');
}

function isRateLimitHeader(name: string): boolean {
  if (name.length === 9) return is(name, 'ratelimit');
  if (name.length === 11) return is(name, 'retry-after');
  return name.length > 9 && name[9] === '-' && name.toLowerCase().startsWith('ratelimit-');
}

function kindOfExtension(name: string): HeaderKind {
  const lowerCase = name.toLowerCase();
  switch (lowerCase) {
    case 'x-request-id':
      return HeaderKind.RequestId;
    case 'x-merchant-id':
      return HeaderKind.MerchantId;
    case 'x-user-id':
      return HeaderKind.UserId;
    case 'x-forwarded-for':
      return HeaderKind.ForwardedFor;
    case 'x-forwarded-proto':
      return HeaderKind.ForwardedProto;
    case 'x-forwarded-host':
      return HeaderKind.ForwardedHost;
    case 'x-real-ip':
      return HeaderKind.ForwardedOther;
    case 'x-original-url':
    case 'x-rewrite-url':
      return HeaderKind.OtherPath;
    default:
      if (lowerCase.startsWith('x-ratelimit-')) return HeaderKind.RateLimit;
      if (lowerCase.startsWith('x-tollgate-')) return HeaderKind.OfOtherDoors;
      return lowerCase.startsWith('x-forwarded-') ? HeaderKind.ForwardedOther : HeaderKind.Other;
  }
}
