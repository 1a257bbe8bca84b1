import { peerGroup } from '#addresses';
import { FairShare } from './fair-share.js';

/** The connections of each peer. Those of trusted proxies carry everybody's requests: they are counted, but not bounded. */
export class PeerConnections {
  private readonly share: FairShare;
  private readonly open = new Map<string, number>();

  /**
   * @param capacity of all peers together
   * @param share of the free ones that a peer may have
   * @param mostEach of one peer in any case
   */
  constructor(capacity: number, share: number, mostEach: number) {
    this.share = new FairShare(capacity, share, mostEach);
  }

  /** Counts a connection in; false if the peer has its share already. */
  opened(peer: string, trusted: boolean): boolean {
    if (!trusted) {
      const group = peerGroup(peer);
      const count = this.open.get(group) ?? 0;
      if (!this.share.mayTake(count)) return false;
      this.open.set(group, count + 1);
    }
    this.share.used++;
    return true;
  }

  /** One that was counted in has closed. */
  closed(peer: string, trusted: boolean): void {
    this.share.used--;
    if (trusted) return;
    const group = peerGroup(peer);
    const count = this.open.get(group)! - 1;
    if (count === 0) this.open.delete(group);
    else this.open.set(group, count);
  }
}
