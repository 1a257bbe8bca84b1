/** Lets the same load go through the topologies, once in detail and then on more and more nodes. */
import { withoutPlace } from './algorithms.mjs';
import { Refusal } from '../command-line.mjs';
import { MOST_TOPOLOGY_KEYS } from './options.mjs';
import { Progress } from './progress.mjs';
import { count, percent, table } from './table.mjs';
import { arrivalsOf, describe } from './traffic.mjs';

/** @typedef {import('../../libs/simulation/src/index.ts').TopologyFigures} TopologyFigures */

/**
 * @param {typeof import('../../libs/simulation/src/index.ts')} simulation
 * @param {import('./options.mjs').SimulateOptions} options
 * @returns {Promise<import('../simulate.mjs').Report>}
 */
export async function simulateTopologies(simulation, options) {
  const { bound, seed, nodes, latencyMs } = options;
  const topologies = simulation.TOPOLOGIES.filter(({ name }) => options.topologies.includes(name));
  const { GROWTH_NODES, GROWTH_SECONDS } = simulation;
  const progress = new Progress(1 + topologies.length + topologies.length * GROWTH_NODES.length);
  await progress.step('traffic');
  const arrivals = arrivalsOf(simulation, options);
  const keys = new Set(arrivals.map(({ key }) => key)).size;
  if (keys > MOST_TOPOLOGY_KEYS)
    throw new Refusal(`Topologies are simulated for at most ${MOST_TOPOLOGY_KEYS} keys; the traffic has ${keys}.`);
  refuseEndless(options.nodes, keys, (arrivals.at(-1)?.atMs ?? 0) / 1000);
  /** @type {TopologyFigures[]} */
  const figures = [];
  for (const topology of topologies) {
    await progress.step(topology.title);
    figures.push(simulation.runTopology(topology, arrivals, { bound, seed, nodes, nodesAtFirst: Math.ceil(nodes / 2), latencyMs }));
  }
  const some =
    options.csv === undefined
      ? arrivalsOf(simulation, options, GROWTH_SECONDS)
      : arrivals.filter(({ atMs }) => atMs < GROWTH_SECONDS * 1000);
  /** @type {TopologyFigures[]} */
  const grown = [];
  await progress.step(`${GROWTH_NODES[0]} nodes`);
  for (const one of simulation.growth(topologies, some, { bound, seed, latencyMs })) {
    grown.push(one);
    if (grown.length < topologies.length * GROWTH_NODES.length) await progress.step(`${one.title}, ${one.nodes} nodes done`);
  }
  progress.done();

  const subtitle = `${describe(options, arrivals)}; ${Math.ceil(nodes / 2)}, then ${nodes} nodes`;
  return {
    text: [subtitle, topologyTable(figures, bound), `Messages a request, at ${GROWTH_SECONDS} s of the same load`, growthTable(grown)].join(
      '\n\n',
    ),
    pictures: { ...simulation.topologyCharts(figures, bound, subtitle), ...simulation.growthCharts(grown, bound, describe(options, some)) },
    json: { options: withoutPlace(options), figures, growth: grown },
  };
}

/**
 * Nodes look about ten times a second, and in a gossip all tell three others of all: about two minutes at most.
 * @param {number} nodes
 * @param {number} keys
 * @param {number} seconds
 * @throws {Refusal}
 */
function refuseEndless(nodes, keys, seconds) {
  const most = Math.floor(Math.min(1e9 / (nodes * nodes * keys), 2e6 / nodes));
  if (seconds > most)
    throw new Refusal(`${nodes} nodes and ${keys} keys are simulated for at most ${most} seconds; the traffic has ${Math.ceil(seconds)}.`);
}

/** @param {readonly TopologyFigures[]} figures @param {import('../../libs/simulation/src/index.ts').Bound} bound */
function topologyTable(figures, { limit }) {
  const heading = [
    'topology',
    'admitted',
    'of one bucket',
    'worst excess',
    'passed wrongly',
    'refused wrongly',
    'waited',
    'messages a request',
  ];
  return table(
    heading,
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

/** @param {readonly TopologyFigures[]} figures */
function growthTable(figures) {
  const nodes = [...new Set(figures.map((one) => one.nodes))];
  const names = [...new Set(figures.map((one) => one.topology))];
  return table(
    ['topology', ...nodes.map((one) => `${count(one)} nodes`)],
    names.map((name) => [name, ...figures.filter((one) => one.topology === name).map((one) => (one.messages / one.offered).toFixed(2))]),
  );
}
