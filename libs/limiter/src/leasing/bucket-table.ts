import { SieveCache } from '../sieve-cache.js';
import type { LocalBucket } from './local-bucket.js';
import { textHash } from '../text-hash.js';

/** Of the table, one merchant may have this part. */
const MOST_OF_ONE_MERCHANT = 1 / 8;
/** Merchants are told apart by so many counters: two that share one share their part. */
const COUNTERS = 4096;

/** What a process knows of buckets: bounded in bytes, together and for each merchant, so that one with many keys pushes out nobody else's. */
export class BucketTable<L extends LocalBucket> {
  private readonly entries: SieveCache<L>;
  private readonly byMerchant = new Float64Array(COUNTERS);
  private readonly mostOfOne: number;

  /** @param onEvicted told of each that made room for another one */
  constructor(maxBytes: number, onEvicted: (evicted: L) => void) {
    this.mostOfOne = maxBytes * MOST_OF_ONE_MERCHANT;
    this.entries = new SieveCache(maxBytes, (evicted) => {
      this.byMerchant[merchantCounter(evicted.key)]! -= evicted.bytes;
      onEvicted(evicted);
    });
  }

  get bytes(): number {
    return this.entries.bytes;
  }

  get(key: string): L | undefined {
    return this.entries.get(key);
  }

  /** Without counting as a use. */
  peek(key: string): L | undefined {
    return this.entries.peek(key);
  }

  /** Puts it there, perhaps in the place of another one of the same key. False: its merchant has as much as it may, and nothing is done. */
  set(key: string, local: L): boolean {
    const counter = merchantCounter(key);
    const bytes = this.byMerchant[counter]! + local.bytes - (this.entries.peek(key)?.bytes ?? 0);
    if (bytes > this.mostOfOne && bytes > local.bytes) return false;
    this.byMerchant[counter] = bytes;
    this.entries.set(key, local);
    return true;
  }
}

/** The merchant stands in braces in front of a key: see bucket-key.ts. */
function merchantCounter(key: string): number {
  return textHash(key, key.indexOf('}')) % COUNTERS;
}
