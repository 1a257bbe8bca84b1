import { peerGroup } from '#addresses';
import { SieveCache, type CacheEntry } from '#limiter';

export interface LookupAllowanceOptions {
  /** Ids a second that turn out to belong to no merchant. */
  readonly perSecond: number;
  /** The same for one peer, so that it cannot use up the allowance of all. */
  readonly perPeerPerSecond: number;
  /** Look-ups under way at once: so many may always be, since what is under way is taken until it is found. */
  readonly atOnce: number;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

const PEER_BYTES = 400;
const MOST_PEER_BYTES = 4 * 1024 * 1024;

/**
 * Bounds how often the rule source is asked about ids that belong to no merchant. Only those count: for a merchant that is found the look-up is
 * given back, so that any number of merchants may come when Redis has lost its snapshots.
 */
export class LookupAllowance {
  private readonly all: Tokens;
  private readonly peers = new SieveCache<Tokens>(MOST_PEER_BYTES);
  private readonly now: () => number;
  private readonly peerCapacity: number;

  constructor(private readonly options: LookupAllowanceOptions) {
    const { perSecond, perPeerPerSecond, atOnce, now = () => performance.now() } = options;
    this.now = now;
    // Half a second's worth at once: with what comes back meanwhile no second has more than one and a half.
    this.all = new Tokens(Math.max(atOnce, Math.ceil(perSecond / 2)), perSecond, now());
    this.peerCapacity = Math.max(atOnce, perPeerPerSecond);
  }

  /** Whether an id may be looked up for a peer now. */
  allows(peer: string): boolean {
    const nowMs = this.now();
    const tokens = this.peers.peek(peerGroup(peer));
    return this.all.has(nowMs) && (tokens === undefined || tokens.has(nowMs));
  }

  /** Takes one look-up, before it is made. False if there is none. */
  take(peer: string): boolean {
    if (!this.allows(peer)) return false;
    this.all.left--;
    this.tokensOf(peer).left--;
    return true;
  }

  /** The merchant exists. */
  giveBack(peer: string): void {
    this.all.giveBack();
    this.peers.peek(peerGroup(peer))?.giveBack();
  }

  private tokensOf(peer: string): Tokens {
    const name = peerGroup(peer);
    let tokens = this.peers.get(name);
    if (tokens === undefined) {
      tokens = new Tokens(this.peerCapacity, this.options.perPeerPerSecond, this.now());
      // A copy: an address may be cut out of a long header, which it would keep alive.
      this.peers.set(Buffer.from(name).toString(), tokens);
    }
    return tokens;
  }
}

/** What is left of an allowance that refills all the time. */
class Tokens implements CacheEntry {
  used = false;
  bytes = PEER_BYTES;
  left: number;

  constructor(
    private readonly capacity: number,
    private readonly perSecond: number,
    private atMs: number,
  ) {
    this.left = capacity;
  }

  has(nowMs: number): boolean {
    this.left = Math.min(this.capacity, this.left + ((nowMs - this.atMs) * this.perSecond) / 1000);
    this.atMs = nowMs;
    return this.left >= 1;
  }

  giveBack(): void {
    this.left = Math.min(this.capacity, this.left + 1);
  }
}
