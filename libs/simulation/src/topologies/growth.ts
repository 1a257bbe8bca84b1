import type { Arrival } from '../traffic/arrival.js';
import { runTopology, type TopologyFigures, type TopologyRun } from './run-topology.js';
import type { Topology } from './topology.js';

/** From one node to a thousand; the load stays the same, so that only the number of nodes makes the difference. */
export const GROWTH_NODES: readonly number[] = [2, 4, 10, 30, 100, 300, 1000];

/** How long the load of a growth run is: a thousand nodes have much to tell each other. */
export const GROWTH_SECONDS = 5;

/** The topologies at growing numbers of nodes, of which half join in the middle of each run. */
export function* growth(
  topologies: readonly Topology[],
  arrivals: readonly Arrival[],
  run: Omit<TopologyRun, 'nodes' | 'nodesAtFirst'>,
): Generator<TopologyFigures> {
  for (const nodes of GROWTH_NODES) {
    for (const topology of topologies) yield runTopology(topology, arrivals, { ...run, nodes, nodesAtFirst: Math.ceil(nodes / 2) });
  }
}
