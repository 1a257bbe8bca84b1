/** What a claim has of one bucket. */
export interface ClaimedTake {
  readonly key: string;
  /** The name of its codec: numbers change from version to version. */
  readonly kind: string;
  readonly generation: number;
  /** See `refundNumbers`. */
  readonly numbers: readonly number[];
  /** Which condition has to be true of the answer, so that it stays taken; undefined: it stays. */
  readonly unless?: number | undefined;
}
