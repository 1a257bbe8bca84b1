import { DebtBucket } from './debt-bucket.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

const BROADCAST_EVERY_MS = 100;

/** Every node tells all others, ten times a second, what it has let through. A node that has nothing to tell is silent. */
export const peerBroadcast: Topology = {
  name: 'peer_broadcast',
  title: 'peers that broadcast',
  start({ clock, network, random, bound, nodes, activeNodes }) {
    const views = new Table((_node: number) => new Table((_key: string) => new DebtBucket(bound)));
    const news = Array.from({ length: nodes }, () => new Map<string, number>());

    const tell = (from: number): void => {
      const told = news[from]!;
      if (told.size > 0) {
        news[from] = new Map();
        const peers = activeNodes();
        network.sendToAll(peers - 1, () => {
          for (let node = 0; node < peers; node++) {
            if (node === from) continue;
            for (const [key, cost] of told) views.of(node).of(key).spend(cost, clock.nowMs);
          }
        });
      }
      clock.after(BROADCAST_EVERY_MS, () => tell(from));
    };
    for (let node = 0; node < nodes; node++) clock.at(random.next() * BROADCAST_EVERY_MS, () => tell(node));

    return ({ key, cost }, node, decide) => {
      const view = views.of(node).of(key);
      const allowed = view.holds(cost, clock.nowMs);
      if (allowed) {
        view.spend(cost, clock.nowMs);
        news[node]!.set(key, (news[node]!.get(key) ?? 0) + cost);
      }
      decide(allowed);
    };
  },
};
