import {
  growth,
  GROWTH_NODES,
  GROWTH_SECONDS,
  growthCharts,
  runTopology,
  TOPOLOGIES,
  topologyCharts,
  type Bound,
  type TopologyFigures,
} from '#simulation';
import { notStarted } from '../shared/command-error.js';
import { count, percent, table } from '../shared/output.js';
import type { Report } from './report.js';
import { Steps } from './steps.js';
import { arrivalsOf, describeTraffic, withoutPlace, type TrafficOptions } from './traffic.js';

/** A thousand nodes each know of each key what a thousand nodes have spent. */
export const MAX_TOPOLOGY_KEYS = 32;

export interface TopologyOptions {
  readonly topologies: readonly string[];
  readonly nodes: number;
  readonly latencyMs: number;
}

/** Lets the same load go through the topologies, once in detail and then on more and more nodes. */
export async function simulateTopologies(options: TrafficOptions, { topologies, nodes, latencyMs }: TopologyOptions): Promise<Report> {
  const { bound, seed } = options;
  const chosen = TOPOLOGIES.filter(({ name }) => topologies.includes(name));
  const arrivals = arrivalsOf(options);
  refuseEndless(nodes, new Set(arrivals.map(({ key }) => key)).size, (arrivals.at(-1)?.atMs ?? 0) / 1000);
  const steps = new Steps(chosen.length * (1 + GROWTH_NODES.length));
  const nodesAtFirst = Math.ceil(nodes / 2);
  const figures: TopologyFigures[] = [];
  for (const topology of chosen) {
    await steps.next(topology.title);
    figures.push(runTopology(topology, arrivals, { bound, seed, nodes, nodesAtFirst, latencyMs }));
  }
  const some =
    options.csv === undefined ? arrivalsOf(options, GROWTH_SECONDS) : arrivals.filter(({ atMs }) => atMs < GROWTH_SECONDS * 1000);
  const grown: TopologyFigures[] = [];
  for (const one of growth(chosen, some, { bound, seed, latencyMs })) {
    grown.push(one);
    await steps.next(`${one.title}, ${one.nodes} nodes`);
  }
  steps.end();

  const subtitle = `${describeTraffic(options, arrivals)}; ${nodesAtFirst}, then ${nodes} nodes`;
  const growthHeading = `Messages a request, at ${GROWTH_SECONDS} s of the same load`;
  return {
    text: [subtitle, topologyTable(figures, bound), growthHeading, growthTable(grown)].join('\n\n'),
    pictures: {
      ...(await topologyCharts(figures, bound, subtitle)),
      ...(await growthCharts(grown, bound, describeTraffic(options, some))),
    },
    json: { options: { what: 'topologies', ...withoutPlace(options), topologies, nodes, latencyMs }, figures, growth: grown },
  };
}

/** Nodes look about ten times a second, and in a gossip all tell three others of all: about two minutes at most. */
function refuseEndless(nodes: number, keys: number, seconds: number): void {
  if (keys > MAX_TOPOLOGY_KEYS)
    throw notStarted(`Topologies are simulated for at most ${MAX_TOPOLOGY_KEYS} keys; the traffic has ${keys}.`);
  const most = Math.floor(Math.min(1e9 / (nodes * nodes * keys), 2e6 / nodes));
  if (seconds > most)
    throw notStarted(`${nodes} nodes and ${keys} keys are simulated for at most ${most} seconds; the traffic has ${Math.ceil(seconds)}.`);
}

function topologyTable(figures: readonly TopologyFigures[], { limit }: Bound): string {
  return table(
    ['topology', 'admitted', 'of one bucket', 'worst excess', 'passed wrongly', 'refused wrongly', 'waited', 'messages a request'],
    figures.map((one) => [
      one.topology,
      count(one.admitted),
      percent(one.admitted, one.admittedByOne),
      percent(one.worstExcess, limit),
      percent(one.wronglyAdmitted, one.offered),
      percent(one.wronglyRefused, one.offered),
      percent(one.waits, one.offered),
      (one.messages / one.offered).toFixed(2),
    ]),
  );
}

function growthTable(figures: readonly TopologyFigures[]): string {
  const nodes = [...new Set(figures.map((one) => one.nodes))];
  const names = [...new Set(figures.map((one) => one.topology))];
  return table(
    ['topology', ...nodes.map((one) => `${count(one)} nodes`)],
    names.map((name) => [name, ...figures.filter((one) => one.topology === name).map((one) => (one.messages / one.offered).toFixed(2))]),
  );
}
