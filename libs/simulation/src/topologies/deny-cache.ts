import { DebtBucket } from './debt-bucket.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

/**
 * A node remembers until when a key is refused, and asks the store for that instant when it knows of none. Whatever is
 * not refused passes, and is counted in the store afterwards, without waiting: all that is under way at once passes.
 */
export const denyCache: Topology = {
  name: 'deny_cache',
  title: 'deny cache',
  start({ clock, network, bound }) {
    // Counts what has passed already, also beyond the limit: that is paid back before anything passes again.
    const store = new Table((_key: string) => new DebtBucket(bound));
    const refusedUntil = (key: string): number => clock.nowMs + store.of(key).waitMs(1, clock.nowMs);
    const caches = new Table((_node: number) => new Map<string, number>());

    return ({ key, cost }, node, decide) => {
      const cache = caches.of(node);
      if ((cache.get(key) ?? 0) > clock.nowMs) return decide(false);
      network.ask(
        () => refusedUntil(key),
        (untilMs) => {
          if (untilMs > clock.nowMs) {
            cache.set(key, untilMs);
            return decide(false);
          }
          decide(true);
          network.send(() => {
            store.of(key).spend(cost, clock.nowMs);
            const nextMs = refusedUntil(key);
            if (nextMs > clock.nowMs) network.send(() => void cache.set(key, nextMs));
          });
        },
      );
    };
  },
};
