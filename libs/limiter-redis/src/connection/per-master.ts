import type { Cluster, Redis } from 'ioredis';
import { SLOTS, slotOf } from './cluster-slot.js';

/** host:port of a master, as the cluster names it. Empty while nobody has said whose a slot is. */
export type MasterName = string;

/** The master that has the slot of a key, as far as that is known here. */
export function masterOf(cluster: Pick<Cluster, 'slots'>, key: string): MasterName {
  return cluster.slots[slotOf(key)]?.[0] ?? '';
}

export function mastersOf(cluster: Pick<Cluster, 'slots'>): Set<MasterName> {
  const masters = new Set<MasterName>();
  for (let slot = 0; slot < SLOTS; slot++) {
    const master = cluster.slots[slot]?.[0];
    if (master !== undefined) masters.add(master);
  }
  return masters;
}

/** The connection to a master. */
export function connectionTo(cluster: Pick<Cluster, 'nodes'>, master: MasterName): Redis | undefined {
  return cluster.nodes().find(({ options: { host, port } }) => `${host}:${port}` === master);
}

/** Tries that find a key of any master that has more than a hundredth of the slots. */
const MOST_TRIES = 2000;

/** A key in a slot of this master; undefined if it seems to have none. */
export function keyAt(cluster: Pick<Cluster, 'slots'>, master: MasterName, name: string): string | undefined {
  for (let i = 0; i < MOST_TRIES; i++) {
    const key = `{:${name}:${i}}`;
    if (masterOf(cluster, key) === master) return key;
  }
  return undefined;
}

/** What there is one of for each master of a cluster: made when it is needed, and ended once that master has no slots. */
export class PerMaster<T> {
  private readonly parts = new Map<MasterName, T>();

  constructor(
    private readonly cluster: Pick<Cluster, 'slots'>,
    private readonly make: (master: MasterName) => T,
    private readonly end: (part: T) => void = () => {},
  ) {}

  /** Of the master that has a key. */
  of(key: string): T {
    const master = masterOf(this.cluster, key);
    let part = this.parts.get(master);
    if (part === undefined) {
      // Only a master that was not there can have taken the place of another.
      this.tidy();
      part = this.make(master);
      this.parts.set(master, part);
    }
    return part;
  }

  all(): IterableIterator<T> {
    return this.parts.values();
  }

  names(): IterableIterator<MasterName> {
    return this.parts.keys();
  }

  /** Ends what belongs to masters that have no slots any more. */
  tidy(): void {
    if (this.parts.size === 0) return;
    const masters = mastersOf(this.cluster);
    // Without a map nobody has lost anything.
    if (masters.size === 0) return;
    for (const [master, part] of this.parts) {
      if (masters.has(master)) continue;
      this.parts.delete(master);
      this.end(part);
    }
  }
}
