import { render, type Heading } from './render.js';
import { DAY, MARGIN, WIDTH } from './theme.js';

export interface Bar {
  readonly name: string;
  readonly value: number;
}

export interface BarPanel {
  readonly name: string;
  readonly bars: readonly Bar[];
  /** By powers of ten, from this value. */
  readonly logFrom?: number;
  /** What stands at the end of a bar. */
  readonly format?: (value: number) => string;
  /** A bound to compare with. */
  readonly mark?: number;
}

const ROW = 22;
const NAMES = 128;

/** Room at the end of the longest bar for its number, as a share of the axis. */
const ROOM_FOR_NUMBERS = 0.24;

/** Panels of bars, two in a row. The bar of the name that is `highlighted` has a colour of its own. */
export function barCharts(heading: Heading, panels: readonly BarPanel[], highlighted?: string): Promise<string> {
  const columns = Math.min(2, panels.length);
  const width = (WIDTH - 2 * MARGIN - (columns - 1) * 28) / columns - NAMES;
  return render(heading, { columns, concat: panels.map((panel) => barPanel(panel, width, highlighted)) });
}

function barPanel({ name, bars, logFrom, format = short, mark }: BarPanel, width: number, highlighted?: string): object {
  const lengths = bars.map(({ value }) => Math.max(value, logFrom ?? 0));
  const most = Math.max(mark ?? 0, ...lengths);
  const values = bars.map(({ name: of, value }, index) => ({
    name: of,
    value: lengths[index]!,
    label: format(value),
    labelFrom: besideMark(lengths[index]!, most, mark),
    highlighted: of === highlighted,
  }));
  const y = { field: 'name', type: 'nominal', sort: null, title: null, axis: { grid: false, labelColor: DAY.ink, labelFontSize: 12 } };
  const x = { field: 'value', type: 'quantitative', axis: null, scale: scaleTo(most, logFrom) };
  const colour = { condition: { test: 'datum.highlighted', value: DAY.accent }, value: DAY.plain };
  return {
    title: name,
    width,
    height: { step: ROW },
    data: { values },
    layer: [
      { mark: { type: 'bar', height: { band: 0.7 }, cornerRadiusEnd: 2 }, encoding: { x, y, color: colour, x2: { datum: logFrom ?? 0 } } },
      { mark: { type: 'text', align: 'left', dx: 5 }, encoding: { x: { ...x, field: 'labelFrom' }, y, text: { field: 'label' } } },
      ...(mark === undefined ? [] : [{ data: { values: [{}] }, mark: 'rule', encoding: { x: { datum: mark } } }]),
    ],
  };
}

/** Where the number of a bar begins: at its end, or behind the mark that would cross it. */
function besideMark(value: number, most: number, mark: number | undefined): number {
  const room = (most / (1 - ROOM_FOR_NUMBERS)) * ROOM_FOR_NUMBERS;
  return mark !== undefined && value < mark && mark < value + room ? mark : value;
}

/** From the foot of the bars to where the longest one has room for its number. */
function scaleTo(most: number, logFrom: number | undefined): object {
  if (logFrom === undefined) return { domain: [0, (most || 1) / (1 - ROOM_FOR_NUMBERS)] };
  return { type: 'log', domain: [logFrom, logFrom * Math.max(10, most / logFrom) ** (1 / (1 - ROOM_FOR_NUMBERS))] };
}

/** Short numbers: 1,200 and 45k and 0.05. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 10_000) return `${trimmed(value / 1e3)}k`;
  return size >= 1000 ? Math.round(value).toLocaleString('en') : trimmed(value);
}

const trimmed = (value: number): string => String(Number(value.toPrecision(3)));
