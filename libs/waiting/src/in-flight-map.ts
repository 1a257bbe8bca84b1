/** So many that have gone stay in the table with their names, until it is made anew: few, so that the names are gone before they are moved to the old objects. */
const MOST_GONE = 128;

/**
 * A map of what is under way by its name, for names that come and go with every request. What is deleted is only emptied, and a new Map, which the
 * old one does not know, is made of the rest now and then: see InFlightSet for what a Map that is changed again and again would keep alive.
 */
export class InFlightMap<V extends object> {
  private byName = new Map<string, V | undefined>();
  private live = 0;

  get size(): number {
    return this.live;
  }

  get(name: string): V | undefined {
    return this.byName.get(name);
  }

  has(name: string): boolean {
    return this.byName.get(name) !== undefined;
  }

  set(name: string, value: V): void {
    if (!this.has(name)) this.live++;
    this.byName.set(name, value);
  }

  delete(name: string): void {
    if (!this.has(name)) return;
    this.live--;
    this.byName.set(name, undefined);
    const gone = this.byName.size - this.live;
    // More than are left, so that each costs at most one move.
    if (gone >= MOST_GONE && gone >= this.live) this.makeAnew();
  }

  names(): string[] {
    return [...this.byName].flatMap(([name, value]) => (value === undefined ? [] : [name]));
  }

  private makeAnew(): void {
    const byName = new Map<string, V>();
    for (const [name, value] of this.byName) if (value !== undefined) byName.set(name, value);
    this.byName = byName;
  }
}
