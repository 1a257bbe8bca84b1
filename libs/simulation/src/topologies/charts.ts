import type { Bound } from '../bound.js';
import { barCharts, lineChart, type Axis, type Bar, type Line } from '../charts/index.js';
import type { TopologyFigures } from './run-topology.js';

/** What the topologies do with the same load, at one number of nodes. `subtitle` says what was simulated. */
export function topologyCharts(figures: readonly TopologyFigures[], { limit }: Bound, subtitle: string): Record<string, string> {
  const percent = (value: number): string => `${value.toFixed(1)} %`;
  const bars = (value: (one: TopologyFigures) => number): Bar[] =>
    figures.map((one, look) => ({ name: one.title, value: value(one), look }));
  return {
    'topologies-compared': barCharts({ title: 'How far topologies go over and under the bound', subtitle }, [
      {
        name: 'Worst excess over capacity + rate × time, of the capacity',
        bars: bars(({ worstExcess }) => (100 * worstExcess) / limit),
        format: (value) => `${value.toFixed(0)} %`,
      },
      {
        name: 'Admitted, of what one bucket admits',
        bars: bars(({ admitted, admittedByOne }) => (100 * admitted) / Math.max(1, admittedByOne)),
        format: percent,
        mark: 100,
      },
      {
        name: 'Passed when nothing was left, of all requests',
        bars: bars(({ wronglyAdmitted, offered }) => (100 * wronglyAdmitted) / offered),
        format: percent,
      },
      {
        name: 'Refused though enough was left, of all requests',
        bars: bars(({ wronglyRefused, offered }) => (100 * wronglyRefused) / offered),
        format: percent,
      },
      { name: 'Waited for the network before being decided', bars: bars(({ waits, offered }) => (100 * waits) / offered), format: percent },
      { name: 'Messages a request', bars: bars(({ messages, offered }) => messages / offered), format: (value) => value.toFixed(2) },
    ]),
  };
}

/** The same load on more and more nodes. */
export function growthCharts(figures: readonly TopologyFigures[], { limit }: Bound, subtitle: string): Record<string, string> {
  const titles = [...new Set(figures.map(({ title }) => title))];
  const nodes = figures.map((one) => one.nodes);
  const x: Axis = { label: 'nodes', domain: [Math.min(...nodes), Math.max(...nodes)], log: true };
  const lines = (value: (one: TopologyFigures) => number): Line[] =>
    titles.map((title, look) => ({
      look,
      points: figures.filter((one) => one.title === title).map((one) => [one.nodes, value(one)] as const),
    }));
  const most = (drawn: readonly Line[]): number => Math.max(...drawn.flatMap(({ points }) => points.map(([, y]) => y)));

  const messages = lines(({ messages, offered }) => Math.max(LEAST_MESSAGES, messages / offered));
  const excess = lines(({ worstExcess }) => (100 * worstExcess) / limit);
  const admitted = lines((one) => (100 * one.admitted) / Math.max(1, one.admittedByOne));
  const chart = (title: string, drawn: readonly Line[], y: Axis, mark?: { y: number; label: string }): string =>
    lineChart({ title, subtitle }, { x, y, lines: drawn, ...(mark && { mark }) }, titles);
  return {
    'topologies-messages': chart('Messages a request as nodes grow', messages, {
      label: `messages a request (${LEAST_MESSAGES} stands for none)`,
      domain: [LEAST_MESSAGES, most(messages)],
      log: true,
    }),
    'topologies-excess': chart('Worst excess over the bound as nodes grow', excess, {
      label: '% of the capacity',
      domain: [0, most(excess) * 1.05 || 1],
    }),
    'topologies-admitted': chart(
      'Admitted as nodes grow',
      admitted,
      { label: '% of what one bucket admits', domain: [0, most(admitted) * 1.05] },
      { y: 100, label: 'one bucket' },
    ),
  };
}

/** A logarithm knows no nothing. */
const LEAST_MESSAGES = 0.01;
