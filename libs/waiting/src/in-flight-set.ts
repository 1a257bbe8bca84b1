/** What an InFlightSet keeps: it writes there where it has put it. */
export interface InFlight {
  /** NOWHERE while it is in no set. */
  place: number;
}

/** For the `place` of what is in no set yet. */
export const NOWHERE = -1;

/**
 * A set of what is under way, for things that come and go with every request. Unlike a Set it leaves nothing behind: V8 makes a Set that is changed
 * again and again a new table every few changes, and the old table keeps the new one and all that stood in it alive until the next full collection,
 * so that every collection of young objects copies what is long over. A thing is in one such set at a time.
 */
export class InFlightSet<T extends InFlight> {
  private readonly things: T[] = [];

  get size(): number {
    return this.things.length;
  }

  add(thing: T): void {
    thing.place = this.things.push(thing) - 1;
  }

  /** Whether it was there. */
  delete(thing: T): boolean {
    const { place } = thing;
    if (this.things[place] !== thing) return false;
    const last = this.things.pop()!;
    if (last !== thing) {
      this.things[place] = last;
      last.place = place;
    }
    thing.place = NOWHERE;
    return true;
  }

  /** What is there now, in no order; the set may be changed meanwhile. */
  now(): readonly T[] {
    return [...this.things];
  }
}
