import { render, type Heading } from './render.js';
import { DAY, MARGIN, SERIES_COLOURS, WIDTH } from './theme.js';

export interface Outcomes {
  readonly name: string;
  /** Requests that were sent in each step of a run. */
  readonly passed: readonly number[];
  readonly refused: readonly number[];
}

/** As a share of the step. */
const BAR_WIDTH = 0.85;

const ROOM_FOR_TICKS_AND_KEY = 120;

/** Of a panel, about; the highest is above every bar. */
const NUMBERS = 4;

/** What became of requests over time: a panel for each who sent them, and a bar for each step, passed below refused. */
export function outcomeChart(heading: Heading, stepSeconds: number, panels: readonly Outcomes[]): Promise<string> {
  const steps = Math.max(1, ...panels.map(({ passed }) => passed.length));
  const width = WIDTH - 2 * MARGIN - ROOM_FOR_TICKS_AND_KEY;
  const outcome = {
    field: 'outcome',
    type: 'nominal',
    sort: null,
    scale: { domain: ['refused', 'passed'], range: [DAY.accent, SERIES_COLOURS[0]] },
    legend: { orient: 'right', symbolSize: 150, symbolStrokeWidth: 0 },
  };
  const seconds = { type: 'quantitative', title: 'seconds', axis: { tickCount: 12, format: ',~r' } };
  const x = { ...seconds, field: 'from', scale: { domain: [0, steps * stepSeconds], nice: false } };
  const y = {
    field: 'foot',
    type: 'quantitative',
    title: null,
    scale: { domainMin: 0, padding: 0, nice: NUMBERS },
    axis: { tickCount: NUMBERS, format: ',~r' },
  };
  return render(heading, {
    columns: 1,
    data: { values: panels.flatMap((panel) => barsOf(panel, stepSeconds)) },
    facet: { field: 'name', type: 'nominal', sort: panels.map(({ name }) => name) },
    spec: { width, height: 120, mark: 'rect', encoding: { x, x2: { field: 'to' }, y, y2: { field: 'top' }, color: outcome } },
    resolve: { scale: { y: 'independent' } },
  });
}

/** Two bars for each step, one on the other; those of nothing are left out. */
function barsOf({ name, passed, refused }: Outcomes, stepSeconds: number): object[] {
  return passed.flatMap((count, step) => {
    const place = { name, from: step * stepSeconds, to: (step + BAR_WIDTH) * stepSeconds };
    const top = count + (refused[step] ?? 0);
    return [
      { ...place, outcome: 'passed', foot: 0, top: count },
      { ...place, outcome: 'refused', foot: count, top },
    ].filter((bar) => bar.top > bar.foot);
  });
}
