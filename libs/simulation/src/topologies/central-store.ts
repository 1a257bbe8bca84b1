import { BucketMap } from '../algorithms/bucket-map.js';
import { tokenBucketSpec } from '../algorithms/specs.js';
import type { Topology } from './topology.js';

/** Every request asks one store, which refills, tests and takes in one step: what Tollgate does. */
export const centralStore: Topology = {
  name: 'central_store',
  title: 'central store',
  start({ clock, network, bound }) {
    const store = new BucketMap(tokenBucketSpec(bound));
    return ({ key, cost }, _node, decide) => {
      // Decided where the tokens are: the way back of the answer changes nothing of it.
      network.ask(
        () => decide(store.take(key, cost, clock.nowMs).allowed),
        () => undefined,
      );
    };
  },
};
