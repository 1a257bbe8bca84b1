import { DebtBucket } from './debt-bucket.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

const PUBLISH_EVERY_MS = 100;
const LAG_MS = 200;
/** The stream's consumer is sized for so many times the load that the limits allow. */
const HEADROOM = 1.5;

/**
 * Nodes write what they let through to a stream; a consumer adds it up and publishes the sums, which all nodes read.
 * There is a lag always, and more of it when there is more to add up: just when the limit matters.
 */
export const eventStream: Topology = {
  name: 'event_stream',
  title: 'lagging event stream',
  start({ clock, network, bound, activeNodes, allowedPerSecond }) {
    // All nodes read the same sums at the same time, so that one view stands for all of them.
    const view = new Table((_key: string) => new DebtBucket(bound));
    const eventMs = 1000 / (allowedPerSecond * HEADROOM);
    let consumerFreeAtMs = 0;
    let sums = new Map<string, number>();

    const consume = (key: string, cost: number): void => {
      consumerFreeAtMs = Math.max(consumerFreeAtMs, clock.nowMs) + eventMs;
      clock.at(consumerFreeAtMs, () => void sums.set(key, (sums.get(key) ?? 0) + cost));
    };
    const publish = (): void => {
      if (sums.size > 0) {
        const told = sums;
        sums = new Map();
        clock.after(LAG_MS, () => {
          network.sendToAll(activeNodes(), () => told.forEach((cost, key) => view.of(key).spend(cost, clock.nowMs)));
        });
      }
      clock.after(PUBLISH_EVERY_MS, publish);
    };
    clock.after(PUBLISH_EVERY_MS, publish);

    return ({ key, cost }, _node, decide) => {
      const allowed = view.of(key).holds(cost, clock.nowMs);
      if (allowed) network.send(() => consume(key, cost));
      decide(allowed);
    };
  },
};
