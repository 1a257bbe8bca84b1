import type { Bound } from '../bound.js';
import { barCharts, lineChart, type Axis, type Bar, type Line } from '../charts/index.js';
import type { TopologyFigures } from './run-topology.js';

/** Where Tollgate keeps its buckets. */
const CHOSEN = 'central store';

/** What the topologies do with the same load, at one number of nodes. `subtitle` says what was simulated. */
export async function topologyCharts(
  figures: readonly TopologyFigures[],
  { limit }: Bound,
  subtitle: string,
): Promise<Record<string, string>> {
  const percent = (value: number): string => `${value.toFixed(1)} %`;
  const bars = (value: (one: TopologyFigures) => number): Bar[] => figures.map((one) => ({ name: one.title, value: value(one) }));
  return {
    'topologies-compared': await barCharts(
      {
        title: 'How far topologies go over and under the bound',
        subtitle,
        notes: ['Compared with one bucket that sees every request at once.'],
      },
      [
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
        {
          name: 'Waited for the network before being decided',
          bars: bars(({ waits, offered }) => (100 * waits) / offered),
          format: percent,
        },
        { name: 'Messages a request', bars: bars(({ messages, offered }) => messages / offered), format: (value) => value.toFixed(2) },
      ],
      CHOSEN,
    ),
  };
}

/** A logarithm knows no nothing. */
const LEAST_MESSAGES = 0.01;

/** The same load on more and more nodes. */
export async function growthCharts(
  figures: readonly TopologyFigures[],
  { limit }: Bound,
  subtitle: string,
): Promise<Record<string, string>> {
  const titles = [...new Set(figures.map(({ title }) => title))];
  const nodes = [...new Set(figures.map((one) => one.nodes))];
  const x: Axis = { label: 'nodes', domain: [Math.min(...nodes), Math.max(...nodes)], log: true, ticks: nodes };
  const chart = (title: string, value: (one: TopologyFigures) => number, axis: (most: number) => Axis): Promise<string> => {
    const lines: Line[] = titles.map((name) => ({
      name,
      points: figures.filter((one) => one.title === name).map((one) => [one.nodes, value(one)] as const),
    }));
    const most = Math.max(...lines.flatMap(({ points }) => points.map(([, y]) => y)));
    return lineChart({ title, subtitle }, { x, y: axis(most), lines });
  };
  return {
    'topologies-messages': await chart(
      'Messages a request as nodes grow',
      ({ messages, offered }) => Math.max(LEAST_MESSAGES, messages / offered),
      (most) => powersOfTen(`messages a request (${LEAST_MESSAGES} stands for none)`, LEAST_MESSAGES, most),
    ),
    'topologies-excess': await chart(
      'Worst excess over the bound as nodes grow',
      ({ worstExcess }) => (100 * worstExcess) / limit,
      (most) => ({ label: '% of the capacity', domain: [0, most || 1], nice: true }),
    ),
    'topologies-admitted': await chart(
      'Admitted as nodes grow',
      (one) => (100 * one.admitted) / Math.max(1, one.admittedByOne),
      (most) => ({ label: '% of what one bucket that sees everything admits', domain: [0, most], nice: true }),
    ),
  };
}

/** An axis that ends at the power of ten above the highest value. */
function powersOfTen(label: string, from: number, most: number): Axis {
  const steps = Math.max(1, Math.ceil(Math.log10(most / from)));
  const ticks = Array.from({ length: steps + 1 }, (_, step) => Number((from * 10 ** step).toPrecision(1)));
  return { label, domain: [from, ticks.at(-1)!], log: true, ticks };
}
