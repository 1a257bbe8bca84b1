import { bucketOf, startLimits, take, type Bucket, type BucketState } from '#limiter';
import { SieveCache, type CacheEntry } from './sieve-cache.js';

export interface LookupAllowanceOptions {
  /** Ids a second that turn out to be nobody's. */
  readonly perSecond: number;
  /** The same for one peer, so that it cannot use up the allowance of all. */
  readonly perPeerPerSecond: number;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

interface Peer extends CacheEntry {
  state: BucketState;
}

const PEER_BYTES = 400;
const MOST_PEER_BYTES = 4 * 1024 * 1024;

/**
 * How often PostgreSQL is asked about ids that nobody created. Only those count: a merchant that is found costs nothing, so that
 * however many merchants may come when Redis has lost its snapshots. Its buckets are the limiter's own.
 */
export class LookupAllowance {
  private readonly all: Bucket;
  private readonly each: Bucket;
  private state: BucketState;
  private readonly peers = new SieveCache<Peer>(MOST_PEER_BYTES);
  private readonly now: () => number;

  constructor({ perSecond, perPeerPerSecond, now = () => performance.now() }: LookupAllowanceOptions) {
    this.now = now;
    // Half a second's worth at once: with what comes back meanwhile no second has more than one and a half.
    this.all = bucketFor(perSecond, Math.ceil(perSecond / 2));
    this.each = bucketFor(perPeerPerSecond, perPeerPerSecond);
    this.state = this.all.start;
  }

  /** Whether an id may be looked up for a peer. Says so until somebody has spent it. */
  allows(peer: string): boolean {
    const nowMs = this.now();
    return take(this.all, this.state, 1, nowMs).decision.allowed && take(this.each, this.peers.get(nameOf(peer))?.state, 1, nowMs).decision.allowed;
  }

  /** The id was nobody's. */
  spend(peer: string): void {
    const nowMs = this.now();
    this.state = take(this.all, this.state, 1, nowMs).state;
    const name = nameOf(peer);
    const { state } = take(this.each, this.peers.peek(name)?.state, 1, nowMs);
    // A copy: an address may be cut out of a long header, which it would keep alive.
    this.peers.set(Buffer.from(name).toString(), { state, used: false, bytes: PEER_BYTES });
  }
}

function bucketFor(perSecond: number, capacity: number): Bucket {
  return bucketOf(startLimits([{ name: 'look-ups', algorithm: 'token_bucket', capacity, refillTokens: perSecond, refillIntervalMs: 1000, refill: 'greedy' }], 0)[0]!);
}

/** Whoever has an IPv6 address has 2^64 of them: the first four groups tell peers apart. Addresses come in canonical text. */
function nameOf(peer: string): string {
  if (!peer.includes(':')) return peer;
  const [head = '', tail] = peer.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  return groups.slice(0, 4).join(':');
}
