import { area, curveStepAfter, line } from 'd3-shape';
import { scaleOf, xAxis, yAxis, type Axis } from './axis.js';
import type { Box } from './frame.js';
import { element, text } from './svg.js';
import { lookOf } from './theme.js';

export type Point = readonly [x: number, y: number];

export interface Line {
  readonly points: readonly Point[];
  /** Which of the looks; lines of one chart differ in it. */
  readonly look: number;
}

/** Lines over one pair of axes. */
export interface LinePanel {
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
  /** What the lines are compared with: a quiet area behind them. */
  readonly reference?: readonly Point[];
  /** A bound: a line across. */
  readonly mark?: { readonly y: number; readonly label: string };
  /** Counts jump, so that they are drawn as steps. */
  readonly steps?: boolean;
}

export function linePanel({ x, y, lines, reference, mark, steps }: LinePanel, box: Box): string {
  const across = scaleOf(x, [box.x, box.x + box.width]);
  const up = scaleOf(y, [box.y + box.height, box.y]);
  const path = line<Point>(
    ([atX]) => across(atX),
    ([, atY]) => up(atY),
  ).digits(1);
  const shade = area<Point>(
    ([atX]) => across(atX),
    box.y + box.height,
    ([, atY]) => up(atY),
  ).digits(1);
  if (steps) {
    path.curve(curveStepAfter);
    shade.curve(curveStepAfter);
  }
  return [
    yAxis(up, y, box),
    reference ? element('path', { class: 'reference', d: shade([...reference]) ?? '' }) : '',
    ...lines.map(({ points, look }) =>
      element('path', { class: `line ${reference ? '' : 'dashed '}${lookOf(look)}`, d: path([...points]) ?? '' }),
    ),
    mark ? element('path', { class: 'mark', d: `M${box.x},${Math.round(up(mark.y))}h${box.width}` }) : '',
    mark ? text(mark.label, { class: 'marked', x: box.x + box.width, y: Math.round(up(mark.y)) - 4, 'text-anchor': 'end' }) : '',
    xAxis(across, x, box),
  ].join('');
}
