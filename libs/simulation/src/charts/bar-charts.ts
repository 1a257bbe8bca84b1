import { scaleOf, short, ticksOf, type Axis } from './axis.js';
import { frame, MARGIN, TOP, WIDTH, type Box, type Heading } from './frame.js';
import { element, text } from './svg.js';
import { lookOf } from './theme.js';

export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly look: number;
  /** What stands at the end of the bar; the value by default. */
  readonly note?: string;
}

export interface BarPanel {
  readonly name: string;
  readonly bars: readonly Bar[];
  /** By powers of ten, from this value. */
  readonly logFrom?: number;
  readonly format?: (value: number) => string;
  /** A bound to compare with. */
  readonly mark?: number;
}

const NAMES = 130;
const NOTES = 62;
const BAR = 15;
const ROW = 22;

/** Panels of bars, two in a row. */
export function barCharts(heading: Heading, panels: readonly BarPanel[]): string {
  const columns = Math.min(2, panels.length);
  const width = (WIDTH - 2 * MARGIN - (columns - 1) * MARGIN) / columns;
  const drawn: string[] = [];
  let y = TOP;
  for (let first = 0; first < panels.length; first += columns) {
    const row = panels.slice(first, first + columns);
    const height = ROW * Math.max(...row.map(({ bars }) => bars.length));
    row.forEach((panel, column) => drawn.push(barPanel(panel, { x: MARGIN + column * (width + MARGIN), y, width, height })));
    y += height + 56;
  }
  return frame(heading, y, ...drawn);
}

function barPanel({ name, bars, logFrom, format = short, mark }: BarPanel, { x, y, width, height }: Box): string {
  const top = y + 18;
  const most = Math.max(mark ?? 0, ...bars.map(({ value }) => value), logFrom ? logFrom * 10 : Number.MIN_VALUE);
  const axis: Axis = { label: '', domain: [logFrom ?? 0, most], log: logFrom !== undefined };
  const across = scaleOf(axis, [x + NAMES, x + width - NOTES]);
  return element(
    'g',
    {},
    text(name, { class: 'name', x, y: y + 6 }),
    ...ticksOf(across, axis, 4).map((tick) => element('path', { class: 'rule', d: `M${Math.round(across(tick))},${top}v${height}` })),
    ...bars.map((bar, index) => {
      const barY = top + index * ROW + (ROW - BAR) / 2;
      const end = across(Math.max(bar.value, axis.domain[0]));
      return (
        text(bar.name, { x: x + NAMES - 8, y: barY + 12, 'text-anchor': 'end' }) +
        element('rect', {
          class: `bar ${lookOf(bar.look)}`,
          x: x + NAMES,
          y: barY,
          width: Math.max(1, end - x - NAMES),
          height: BAR,
          rx: 2,
        }) +
        text(bar.note ?? format(bar.value), { class: 'quiet', x: end + 6, y: barY + 12 })
      );
    }),
    mark === undefined ? '' : element('path', { class: 'mark', d: `M${Math.round(across(mark))},${top}v${height}` }),
  );
}
