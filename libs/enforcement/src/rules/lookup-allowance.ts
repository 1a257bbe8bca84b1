import { peerGroup } from '#addresses';
import { Allowance, SieveCache, type CacheEntry } from '#limiter';

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
  private readonly all: Allowance;
  private readonly peers = new SieveCache<PeerAllowance>(MOST_PEER_BYTES);
  private readonly now: () => number;
  private readonly peerCapacity: number;

  constructor(private readonly options: LookupAllowanceOptions) {
    const { perSecond, perPeerPerSecond, atOnce, now = () => performance.now() } = options;
    this.now = now;
    // Half a second's worth at once: with what comes back meanwhile no second has more than one and a half.
    this.all = new Allowance(Math.max(atOnce, Math.ceil(perSecond / 2)), perSecond, now());
    this.peerCapacity = Math.max(atOnce, perPeerPerSecond);
  }

  /** Whether an id may be looked up for a peer now. */
  allows(peer: string): boolean {
    const nowMs = this.now();
    const ofPeer = this.peers.peek(peerGroup(peer));
    return this.all.allows(nowMs) && (ofPeer === undefined || ofPeer.allows(nowMs));
  }

  /** Takes one look-up, before it is made. False if there is none. */
  take(peer: string): boolean {
    if (!this.allows(peer)) return false;
    const nowMs = this.now();
    this.all.take(nowMs);
    this.allowanceOf(peer, nowMs).take(nowMs);
    return true;
  }

  /** The merchant exists. */
  giveBack(peer: string): void {
    this.all.giveBack();
    this.peers.peek(peerGroup(peer))?.giveBack();
  }

  private allowanceOf(peer: string, nowMs: number): PeerAllowance {
    const name = peerGroup(peer);
    let allowance = this.peers.get(name);
    if (allowance === undefined) {
      allowance = new PeerAllowance(this.peerCapacity, this.options.perPeerPerSecond, nowMs);
      // A copy: an address may be cut out of a long header, which it would keep alive.
      this.peers.set(Buffer.from(name).toString(), allowance);
    }
    return allowance;
  }
}

/** The allowance of one peer, as a cache keeps it. */
class PeerAllowance extends Allowance implements CacheEntry {
  used = false;
  bytes = PEER_BYTES;
}
