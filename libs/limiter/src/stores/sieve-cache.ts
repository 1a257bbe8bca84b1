/** What a SieveCache holds. */
export interface CacheEntry {
  /** Whether it was asked for since the hand has passed. Only the cache writes it. */
  used: boolean;
  /** What it takes in memory, as far as can be said. Only the cache writes it, once it holds the entry. */
  bytes: number;
}

/**
 * A cache bounded in bytes that keeps what is in use, by SIEVE (Zhang et al., NSDI 2024): a hand goes from the oldest entry to the
 * newest, spares what was asked for since it last passed, and removes the first that was not. What comes once leaves soon, so
 * a flood of such entries pushes nothing out that is in use. A use costs one write, and only the first; no order is kept.
 */
export class SieveCache<E extends CacheEntry> {
  private readonly entries = new Map<string, E>();
  /** Of a Map, so that it goes on where it stood although entries are added and removed meanwhile. */
  private hand = this.entries.entries();
  private heldBytes = 0;

  /** @param onEvicted told of each entry that made room for another one */
  constructor(
    private readonly maxBytes: number,
    private readonly onEvicted: (entry: E) => void = () => {},
  ) {}

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.heldBytes;
  }

  get(key: string): E | undefined {
    const entry = this.entries.get(key);
    if (entry !== undefined && !entry.used) entry.used = true;
    return entry;
  }

  /** Without counting as a use. */
  peek(key: string): E | undefined {
    return this.entries.get(key);
  }

  /** An entry that is larger than all that may be held is held alone. */
  set(key: string, entry: E): void {
    const previous = this.entries.get(key);
    if (previous === undefined) this.makeRoom(entry.bytes);
    else this.heldBytes -= previous.bytes;
    entry.used = previous !== undefined;
    this.entries.set(key, entry);
    this.heldBytes += entry.bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.heldBytes -= entry.bytes;
  }

  /** An entry that is held has grown, or shrunk. Others make room when the next one comes. */
  resize(entry: E, bytes: number): void {
    this.heldBytes += bytes - entry.bytes;
    entry.bytes = bytes;
  }

  /** In the order in which they came. */
  [Symbol.iterator](): IterableIterator<[string, E]> {
    return this.entries.entries();
  }

  keys(): IterableIterator<string> {
    return this.entries.keys();
  }

  private makeRoom(bytes: number): void {
    while (this.entries.size > 0 && this.heldBytes + bytes > this.maxBytes) {
      const next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
      } else if (next.value[1].used) {
        next.value[1].used = false;
      } else {
        this.delete(next.value[0]);
        this.onEvicted(next.value[1]);
      }
    }
  }
}
