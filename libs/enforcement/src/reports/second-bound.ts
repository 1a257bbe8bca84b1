/** Whom refusals count for that belong to no merchant: ids that nobody has, and requests that name none, share one share. */
export const NO_MERCHANT = '';

/** Of what is done in a second one merchant gets at most this part. */
const PART_OF_ONE_MERCHANT = 4;

/** Bounds how often something is done in a second, for all and for one merchant. Beyond the bounds it costs a comparison or a look-up to find that out. */
export class SecondBound {
  private second = -1;
  private inSecond = 0;
  /** How often in this second, by merchant: no more entries than the bound for all. */
  private readonly byMerchant = new Map<string, number>();
  private readonly perMerchant: number;

  constructor(private readonly perSecond: number) {
    this.perMerchant = Math.max(1, Math.ceil(perSecond / PART_OF_ONE_MERCHANT));
  }

  /**
   * The bound that stands in the way; undefined: none.
   *
   * @param nowMs of a clock that never steps back
   * @param part of both bounds that this may use up, from 0 to 1: the rest is left to what matters more
   */
  metBy(merchantId: string, nowMs: number, part = 1): 'rate' | 'merchant_rate' | undefined {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.second) {
      this.second = second;
      this.inSecond = 0;
      this.byMerchant.clear();
    }
    if (this.inSecond >= this.perSecond * part) return 'rate';
    return (this.byMerchant.get(merchantId) ?? 0) >= this.perMerchant * part ? 'merchant_rate' : undefined;
  }

  /** It is done. */
  count(merchantId: string): void {
    this.inSecond++;
    this.byMerchant.set(merchantId, (this.byMerchant.get(merchantId) ?? 0) + 1);
  }
}
