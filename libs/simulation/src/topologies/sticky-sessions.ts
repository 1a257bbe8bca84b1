import { BucketMap } from '../algorithms/bucket-map.js';
import { tokenBucketSpec } from '../algorithms/specs.js';
import { hash32 } from '../random.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

/**
 * The load balancer gives all requests of a key to one node, by hash, and each node counts alone. Exact while nothing
 * changes; when nodes join, keys move to nodes that know nothing of what they have spent.
 */
export const stickySessions: Topology = {
  name: 'sticky_sessions',
  title: 'sticky sessions',
  start({ clock, bound, activeNodes }) {
    const nodes = new Table((_node: number) => new BucketMap(tokenBucketSpec(bound)));
    return ({ key, cost }, _node, decide) => {
      decide(nodes.of(hash32(key) % activeNodes()).take(key, cost, clock.nowMs).allowed);
    };
  },
};
