/** What one merchant holds of the slots of one upstream. */
export interface SlotHolding {
  slots: number;
  /** Those of them that wait for the upstream to begin its answer; counted only where overload is controlled. */
  awaiting: number;
  /** One of twice the weight may have twice as many. */
  readonly weight: number;
}
