/** A thing that was counted, and perhaps others before it whose place it took. */
export interface Counted<T> {
  readonly key: string;
  /** What was first said of it. */
  readonly what: T;
  /** At least so often it was counted. */
  readonly atLeast: number;
  /** At most so often. */
  readonly atMost: number;
}

interface Counter<T> {
  key: string;
  what: T;
  count: number;
  /** How much of the count may belong to others. */
  error: number;
}

/**
 * Which of many things come most often, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi 2005, "Efficient Computation of Frequent and Top-k Elements in
 * Data Streams"). A new thing takes the place and the count of the least frequent one. A thing that makes up more than a
 * `size`-th of all that was counted is always there.
 *
 * A look at each of `size` counters is the price of a new one, so they should be few.
 */
export class SpaceSaving<T> {
  private readonly counters = new Map<string, Counter<T>>();

  constructor(private readonly size: number) {}

  /** @param what is asked for only if the thing is new. @param weight how often it came */
  add(key: string, weight: number, what: () => T): void {
    const known = this.counters.get(key);
    if (known !== undefined) {
      known.count += weight;
      return;
    }
    const least = this.counters.size < this.size ? undefined : this.least();
    if (least !== undefined) this.counters.delete(least.key);
    const error = least?.count ?? 0;
    this.counters.set(key, { key, what: what(), count: error + weight, error });
  }

  /** Those that are there, most frequent first. */
  top(): Counted<T>[] {
    const all = [...this.counters.values()].sort((a, b) => b.count - a.count);
    return all.map(({ key, what, count, error }) => ({ key, what, atLeast: count - error, atMost: count }));
  }

  private least(): Counter<T> {
    let least: Counter<T> | undefined;
    for (const counter of this.counters.values()) if (least === undefined || counter.count < least.count) least = counter;
    return least!;
  }
}
