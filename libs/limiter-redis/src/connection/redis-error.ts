/**
 * What a failed call of Redis says about Redis. The codes are few and fixed, so that they can be the label of a metric; the
 * words are for people. Nothing here carries keys or credentials.
 */

interface Kind {
  /** What it means and what to look at, in words for the log. */
  readonly meaning: string;
  /** A new connection may lead to a server that can serve: the address may have moved to another one. */
  readonly needsNewConnection?: true;
  /** Only writes fail. What reads, a refusal among it, is answered as ever. */
  readonly stillReads?: true;
  /** Only the keys of this call were concerned: other calls to the same server are answered as ever. */
  readonly sparesOthers?: true;
}

const KINDS = {
  OOM: { meaning: 'Redis is full: maxmemory is reached, and nothing can be evicted', stillReads: true },
  READONLY: { meaning: 'this Redis is a replica: a failover is under way, or REDIS_URL names a replica', needsNewConnection: true },
  LOADING: { meaning: 'Redis is loading its data', needsNewConnection: true },
  MASTERDOWN: { meaning: 'this Redis is a replica that has lost its primary', needsNewConnection: true },
  CLUSTERDOWN: { meaning: 'the Redis Cluster does not serve these keys', needsNewConnection: true },
  TRYAGAIN: { meaning: 'a slot of the Redis Cluster is on its way, with keys of one call on both nodes', sparesOthers: true },
  NOREPLICAS: { meaning: 'Redis has too few replicas to accept writes (min-replicas-to-write)' },
  MISCONF: { meaning: 'Redis cannot save its data to disk, and refuses writes' },
  BUSY: { meaning: 'a script or a function of somebody blocks Redis' },
  NOPERM: { meaning: 'the Redis user lacks a permission: see docs/operations.md for those that are needed' },
  NOAUTH: { meaning: 'Redis wants a password, and REDIS_URL has none' },
  WRONGPASS: { meaning: 'Redis does not accept the user or the password of REDIS_URL' },
  MAXCLIENTS: { meaning: 'Redis has as many clients as it accepts (maxclients)' },
  NOSCRIPT: { meaning: 'Redis forgets scripts as soon as it is told them' },
  WRONGTYPE: { meaning: 'a key of Tollgate holds what somebody else has written' },
  ERR: { meaning: 'Redis answered with an error' },
  DNS: { meaning: 'the name of Redis has no address' },
  REFUSED: { meaning: 'nobody listens at the address of Redis' },
  UNREACHABLE: { meaning: 'there is no way to the address of Redis' },
  RESET: { meaning: 'the connection to Redis was cut' },
  TLS: { meaning: 'no encrypted connection to Redis comes about: check the certificate, and whether both sides use TLS' },
  TIMEOUT: { meaning: 'Redis does not answer in time' },
  DISCONNECTED: { meaning: 'there is no connection to Redis' },
  OTHER: { meaning: 'the call failed for a reason that Tollgate does not know' },
} satisfies Record<string, Kind>;

export type StoreFailureCode = keyof typeof KINDS;

export interface StoreFailure extends Kind {
  readonly code: StoreFailureCode;
  /** What Redis or the network said, in one line. */
  readonly said: string;
  /** Which master of a cluster it was: host:port. */
  readonly node?: string;
}

export function storeFailure(code: StoreFailureCode, said: string): StoreFailure {
  return { ...KINDS[code], code, said };
}

/** @param error what a command was rejected with, or what the connection reported */
export function failureOf(error: unknown): StoreFailure {
  const { name, code, message } = first(error);
  return storeFailure(isReply(name, message) ? replyCode(message) : networkCode(name, code, message), inOneLine(message || code || name));
}

interface ErrorFields {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

/** A name with several addresses fails with an error for each; a cluster with that of the node that was asked last. */
function first(error: unknown): ErrorFields {
  const { name, code, message, errors, lastNodeError } = (error ?? {}) as Partial<ErrorFields> & {
    errors?: unknown[];
    lastNodeError?: unknown;
  };
  const inner = lastNodeError ?? (Array.isArray(errors) ? errors[0] : undefined);
  return inner === undefined
    ? { name: name ?? '', code: code ?? '', message: message ?? (typeof error === 'string' ? error : '') }
    : first(inner);
}

function isReply(name: string, message: string): boolean {
  return name === 'ReplyError' || /^[A-Z]{3,} /.test(message);
}

/** The first word; of a script Redis 6 has it behind the line number, and Redis 7.0 paraphrases one. */
function replyCode(message: string): StoreFailureCode {
  const word = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? '';
  if (word !== 'ERR' && word in KINDS) return word as StoreFailureCode;
  if (/can't run this command|no permission/i.test(message)) return 'NOPERM';
  if (/max number of clients/i.test(message)) return 'MAXCLIENTS';
  const inScript = /@user_script:.*-([A-Z]+) /.exec(message)?.[1] ?? '';
  return inScript in KINDS ? (inScript as StoreFailureCode) : 'ERR';
}

const NETWORK: readonly (readonly [RegExp, StoreFailureCode])[] = [
  [/^(ENOTFOUND|EAI_)/, 'DNS'],
  [/^ECONNREFUSED|^ENOENT/, 'REFUSED'],
  [/^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)/, 'UNREACHABLE'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)/, 'RESET'],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT)/, 'TIMEOUT'],
  [/^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_OSSL_)/, 'TLS'],
];

function networkCode(name: string, code: string, message: string): StoreFailureCode {
  for (const [pattern, found] of NETWORK) if (pattern.test(code)) return found;
  // A cluster that sends a command on and on: from one side of a slot that is on its way to the other.
  if (/^Too many Cluster redirections/.test(message)) return 'TRYAGAIN';
  if (/timed out|timeout/i.test(message)) return 'TIMEOUT';
  // What ioredis says of commands that had no connection, or lost it.
  if (
    name === 'MaxRetriesPerRequestError' ||
    name === 'AbortError' ||
    /isn't writeable|connection is closed|no more|startup nodes/i.test(message)
  )
    return 'DISCONNECTED';
  return 'OTHER';
}

const LONGEST = 200;

/** Without what Redis repeats of the command: its keys name merchants. */
function inOneLine(message: string): string {
  return message
    .replace(/\s+/g, ' ')
    .replace(/,? ?with args beginning with.*$/, '')
    .replace(/,? script: [0-9a-f]{40}.*$/, '')
    .replace(/:\/\/\S*@/g, '://[redacted]@')
    .trim()
    .slice(0, LONGEST);
}
