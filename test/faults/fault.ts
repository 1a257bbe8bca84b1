import type { FaultBed } from './bed.js';
import type { Merchant } from './merchants.js';

/** What breaks, how, and what merchants may see meanwhile. */
export interface Fault {
  readonly name: string;
  readonly breakIt: (bed: FaultBed) => unknown;
  readonly heal: (bed: FaultBed) => unknown;
  /** Statuses that each merchant may get while it is broken and until it has healed. What is not named: 200, and 429 for those over their limit. */
  readonly allowed: Partial<Record<Merchant, readonly number[]>>;
  /** How often in the row a bucket may be full again: what is lost cannot be known. */
  readonly bucketsLost?: number;
  /** It takes too long for npm test, or needs something that not every machine has. */
  readonly onlyByHand?: true;
  /** How long it lasts at least, where that is judged. */
  readonly seconds?: number;
  /** Wrong is what takes longer than this to heal. */
  readonly healsWithinMs: number;
}

/** Rules act by their onStoreFailure. */
export const STORE_AWAY = { closed: [503], limited: [503], leased: [503] } as const;

/** What everybody may get besides. */
export function everybody(...statuses: number[]): Record<Merchant, readonly number[]> {
  return { open: statuses, closed: statuses, local: statuses, limited: statuses, leased: statuses };
}
