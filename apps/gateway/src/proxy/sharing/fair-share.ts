/**
 * Divides a number of places among holders that are not known beforehand, by dynamic thresholds (Choudhury and Hahne, IEEE/ACM
 * Transactions on Networking 6(2), 1998): a holder may have at most `share` times as many as are free. A holder that is alone gets a
 * large part, and however long several hold what they have, some stay free for those that come: n holders that take all
 * they can leave capacity / (1 + n * share).
 */
export class FairShare {
  used = 0;

  /**
   * @param share above 0; 1: as many as are free
   * @param mostEach no holder gets more than this, however many are free
   */
  constructor(
    public capacity: number,
    readonly share: number,
    private readonly mostEach = Infinity,
  ) {}

  get free(): number {
    return this.capacity - this.used;
  }

  /**
   * Whether a holder may have more. Any holder may have a first one, as long as one is free.
   *
   * @param held what it has
   * @param weight a holder of twice the weight may have twice as many
   * @param reserved of the free ones, how many are for others
   */
  mayTake(held: number, amount = 1, weight = 1, reserved = 0): boolean {
    const free = this.capacity - this.used - reserved;
    if (amount > free || held + amount > this.mostEach) return false;
    return held === 0 || held + amount <= this.share * weight * free;
  }
}
