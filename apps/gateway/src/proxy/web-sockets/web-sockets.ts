import { FairShare } from '../sharing/fair-share.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';

/** The WebSockets that are open, of all merchants. Unlike requests they hold no slot of their upstream, which would be gone for hours. */
export class WebSockets {
  private readonly share: FairShare;

  /**
   * @param most of all merchants; 0: none
   * @param share of the free ones that a merchant may have
   */
  constructor(most: number, share: number) {
    this.share = new FairShare(most, share);
  }

  get open(): number {
    return this.share.used;
  }

  /** Counts one in, from its handshake on; false if the merchant has its share already. */
  enter(load: MerchantLoad): boolean {
    if (!this.share.mayTake(load.webSockets, 1, load.weight)) return false;
    this.share.used++;
    load.webSockets++;
    return true;
  }

  leave(load: MerchantLoad): void {
    this.share.used--;
    load.webSockets--;
  }
}
