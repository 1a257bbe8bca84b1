import { type IdentityHeaders, isRequestId } from '#edge';
import type { KeyHeaders } from '../../identity/index.js';
import { HeaderKind, headerKind } from './header-kind.js';
import { addConnectionOptions } from './hop-by-hop.js';
import { PROBLEMS, type Problem } from '../problems.js';

/** RFC 9112 leaves it to the recipient how many connection options are sane; each costs a look at every header. */
const MAX_CONNECTION_OPTIONS = 32;

/** uri-host [ ":" port ], as the characters of RFC 3986 allow it. */
const HOST = /^(?:[A-Za-z0-9\-._~%!$&'()*+,;=]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/** How the body of a request is delimited; a number is its Content-Length in bytes. */
export const CHUNKED = -1;

/** What one look at the raw headers tells about a request. */
export class RequestHead implements IdentityHeaders, KeyHeaders {
  /** Why the request is refused, or null. When set, nothing else here is to be relied on. */
  problem: Problem | null = null;
  host = '';
  /** The client's own request id, if it sent exactly one that is valid. */
  requestId: string | undefined = undefined;
  /** Bytes, or `CHUNKED`. 0: there is no body. */
  bodyLength = 0;
  /** Whether the client says that its connection ends with the answer. Node's parser does not see it in all spellings. */
  closes = false;
  /** Lower-case names that the Connection header declares to be for this hop only; null: none. */
  connectionOptions: string[] | null = null;
  merchantIds = 0;
  authorizations = 0;
  authorization = '';
  merchantId = '';
  userIds = 0;
  userId = '';
  forwardedFor = '';
  /** How many headers of a kind there are; what follows from that is said above. */
  hosts = 0;
  requestIds = 0;
  transferEncodings = 0;
  hasContentLength = false;
  /** All values of Upgrade, joined by commas; null: there is none. */
  upgrade: string | null = null;
}

/**
 * Looks once at everything that decides how a request is understood, and refuses what two servers could understand
 * differently: a gateway that forwards such a request lets the client smuggle another one past the limiter.
 * Node's parser already refuses duplicate or malformed Content-Length, and Content-Length beside a final `chunked`.
 * What the path says is for the path policy.
 *
 * @param version of HTTP, like 1.1
 * @param knownHost a Host value that has been found valid on this connection before; spares the check
 * @param isHandshake of a WebSocket, and found to be a valid one
 */
export function inspectHead(
  target: string,
  version: string,
  rawHeaders: readonly string[],
  knownHost: string,
  isHandshake = false,
): RequestHead {
  const head = new RequestHead();
  head.problem =
    lineProblem(target, version) ?? scanHeaders(head, rawHeaders) ?? headProblem(head, version === '1.0', knownHost, isHandshake);
  return head;
}

function lineProblem(target: string, version: string): Problem | null {
  // Node's parser also takes HTTP/2.0 and HTTP/0.9, with the framing of HTTP/1.1.
  if (version !== '1.1' && version !== '1.0') return PROBLEMS.httpVersion;
  if (target.charCodeAt(0) !== 0x2f) return target === '*' ? PROBLEMS.asterisk : PROBLEMS.targetForm;
  return null;
}

/** The one look at the headers. */
function scanHeaders(head: RequestHead, rawHeaders: readonly string[]): Problem | null {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const kind = headerKind(rawHeaders[i]!);
    if (kind === HeaderKind.Other) continue;
    const value = rawHeaders[i + 1]!;
    switch (kind) {
      case HeaderKind.Host:
        head.hosts++;
        head.host = value;
        break;
      case HeaderKind.ContentLength:
        head.hasContentLength = true;
        head.bodyLength = Number(value);
        break;
      case HeaderKind.TransferEncoding:
        head.transferEncodings++;
        if (value.toLowerCase() !== 'chunked') return PROBLEMS.transferEncoding;
        break;
      case HeaderKind.Connection:
        if (!readConnectionOptions(head, value)) return PROBLEMS.connectionOptions;
        break;
      case HeaderKind.Upgrade:
        head.upgrade = head.upgrade === null ? value : `${head.upgrade}, ${value}`;
        break;
      case HeaderKind.RequestId:
        head.requestIds++;
        head.requestId = head.requestIds === 1 && isRequestId(value) ? value : undefined;
        break;
      case HeaderKind.MerchantId:
        head.merchantIds++;
        head.merchantId = value;
        break;
      case HeaderKind.UserId:
        head.userIds++;
        head.userId = value;
        break;
      case HeaderKind.Authorization:
        head.authorizations++;
        head.authorization = value;
        break;
      case HeaderKind.ForwardedFor:
        head.forwardedFor = head.forwardedFor === '' ? value : `${head.forwardedFor},${value}`;
        break;
      default:
        // The others decide nothing here.
        break;
    }
  }
  return null;
}

/** What the headers say together. */
function headProblem(head: RequestHead, http10: boolean, knownHost: string, isHandshake: boolean): Problem | null {
  const { hosts, transferEncodings, upgrade } = head;
  if (hosts > 1) return PROBLEMS.hostDuplicate;
  if (head.host === '') {
    if (hosts === 1 || !http10) return PROBLEMS.hostMissing;
  } else if (head.host !== knownHost && !HOST.test(head.host)) return PROBLEMS.hostInvalid;

  if (transferEncodings > 0) {
    if (http10) return PROBLEMS.transferEncodingInHttp10;
    if (head.hasContentLength) return PROBLEMS.framingAmbiguous;
    if (transferEncodings > 1) return PROBLEMS.transferEncoding;
    head.bodyLength = CHUNKED;
  }

  // Without the connection option, Upgrade means nothing. `h2c` is an offer that common clients make with every first
  // request (Java's HttpClient does), and that RFC 9110 lets a server ignore; others expect an answer.
  if (upgrade !== null && !isHandshake && head.connectionOptions?.includes('upgrade') && upgrade.toLowerCase() !== 'h2c') {
    return PROBLEMS.upgrade;
  }
  return null;
}

/** Adds the options of one Connection header; false if there are too many. */
function readConnectionOptions(head: RequestHead, value: string): boolean {
  if (value === 'keep-alive') return true;
  const options = value.split(',', MAX_CONNECTION_OPTIONS + 1);
  if (options.length > MAX_CONNECTION_OPTIONS) return false;
  if (options.some((option) => option.trim().toLowerCase() === 'close')) head.closes = true;
  head.connectionOptions = addConnectionOptions(head.connectionOptions, options);
  return head.connectionOptions === null || head.connectionOptions.length <= MAX_CONNECTION_OPTIONS;
}
