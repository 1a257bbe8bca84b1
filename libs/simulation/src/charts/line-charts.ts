import { render, type Heading } from './render.js';
import { DASHES, DAY, FACET_SPACING, MARGIN, SERIES_COLOURS, WIDTH } from './theme.js';

export interface Axis {
  readonly label: string;
  readonly domain: readonly [number, number];
  /** By powers of ten; the domain must be above 0. */
  readonly log?: boolean;
  /** Extends the domain to the next round value, which has a number then. */
  readonly nice?: boolean;
  /** The values that have a number; round ones by default. */
  readonly ticks?: readonly number[];
}

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface LineChart {
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

/** One chart with a key to its lines, which differ in colour and dash. */
export function lineChart(heading: Heading, { x, y, lines }: LineChart): Promise<string> {
  const domain = lines.map(({ name }) => name);
  const look = { field: 'name', type: 'nominal', legend: { orient: 'right', offset: 24 } };
  return render(heading, {
    width: 560,
    height: 340,
    data: { values: lines.flatMap(({ name, points }) => points.map(([atX, atY]) => ({ name, x: atX, y: atY }))) },
    mark: { type: 'line', clip: true },
    encoding: {
      x: channel('x', x),
      y: channel('y', y),
      color: { ...look, scale: { domain, range: cycled(SERIES_COLOURS, domain) } },
      strokeDash: { ...look, scale: { domain, range: cycled(DASHES, domain) } },
    },
  });
}

export interface CourseChart {
  readonly x: Axis;
  readonly y: Axis;
  /** A panel each. */
  readonly panels: readonly { readonly name: string; readonly points: readonly CoursePoint[] }[];
  /** A bound: a dashed line across. */
  readonly mark: number;
  /** The panel whose line has a colour of its own. */
  readonly highlighted?: string;
}

interface CoursePoint {
  readonly x: number;
  readonly y: number;
  /** What the line is compared with: an area behind it. */
  readonly reference: number;
}

/** Left of the first panels of a row. */
const ROOM_FOR_TICKS = 30;

/** Many small charts that differ in one thing: easier to compare than many lines in one. Counts jump, so they are steps. */
export function smallMultiples(heading: Heading, { x, y, panels, mark, highlighted }: CourseChart): Promise<string> {
  const columns = Math.min(2, panels.length);
  const across = channel('x', x);
  const colour = {
    condition: { test: `datum.panel === ${JSON.stringify(highlighted ?? '')}`, value: DAY.accent },
    value: SERIES_COLOURS[0],
  };
  return render(heading, {
    columns,
    data: { values: panels.flatMap(({ name, points }) => points.map((point) => ({ panel: name, ...point }))) },
    facet: { field: 'panel', type: 'nominal', sort: panels.map(({ name }) => name) },
    spec: {
      width: (WIDTH - 2 * MARGIN - (columns - 1) * FACET_SPACING - ROOM_FOR_TICKS) / columns,
      height: 100,
      layer: [
        {
          mark: { type: 'area', interpolate: 'step-after', color: DAY.shade, clip: true },
          encoding: { x: across, y: { ...channel('reference', y), stack: null } },
        },
        { mark: { type: 'line', interpolate: 'step-after', clip: true }, encoding: { x: across, y: channel('y', y), color: colour } },
        { data: { values: [{}] }, mark: 'rule', encoding: { y: { datum: mark } } },
      ],
    },
  });
}

function channel(field: string, { label, domain, log, ticks, nice = false }: Axis): object {
  return {
    field,
    type: 'quantitative',
    title: label || null,
    scale: { domain, nice: nice && NUMBERS, ...(log && { type: 'log' }) },
    axis: { ...(ticks ? { values: ticks, labelOverlap: false } : { tickCount: NUMBERS }), format: ',~r' },
  };
}

/** As many numbers as an axis has by default, about. A domain that is extended ends at one of them. */
const NUMBERS = 6;

const cycled = <T>(looks: readonly T[], names: readonly string[]): T[] => names.map((_, index) => looks[index % looks.length]!);
