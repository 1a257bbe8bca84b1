import { frame, MARGIN, TOP, WIDTH, type Heading } from './frame.js';
import { linePanel, type LinePanel } from './line-panel.js';
import { element, text } from './svg.js';
import { lookOf } from './theme.js';

/** Room for the numbers at the vertical axis, and for the ones below. */
const LEFT = 42;
const BELOW = 44;

/** Many small charts that differ in one thing: easier to compare than many lines in one. */
export function smallMultiples(heading: Heading, panels: readonly (LinePanel & { readonly name: string })[]): string {
  const columns = panels.length > 6 ? 3 : Math.min(2, panels.length);
  const width = (WIDTH - 2 * MARGIN - (columns - 1) * MARGIN) / columns;
  const height = 130;
  const rowHeight = height + BELOW + 42;
  const drawn = panels.map((panel, index) => {
    const x = MARGIN + (index % columns) * (width + MARGIN);
    const y = TOP + Math.floor(index / columns) * rowHeight;
    const box = { x: x + LEFT, y: y + 30, width: width - LEFT, height };
    return element('g', {}, text(panel.name, { class: 'name', x, y: y + 6 }), linePanel(panel, box));
  });
  return frame(heading, TOP + Math.ceil(panels.length / columns) * rowHeight + 8, ...drawn);
}

/** One chart with a key to its lines. */
export function lineChart(heading: Heading, panel: LinePanel, names: readonly string[]): string {
  const keyWidth = 210;
  const height = 340;
  const box = { x: MARGIN + LEFT, y: TOP + 24, width: WIDTH - 2 * MARGIN - LEFT - keyWidth - 16, height };
  const key = panel.lines.map(({ look }, index) => {
    const x = WIDTH - MARGIN - keyWidth;
    const y = TOP + 34 + index * 24;
    return (
      element('path', { class: `line dashed ${lookOf(look)}`, d: `M${x},${y}h30` }) + text(names[index] ?? '', { x: x + 38, y: y + 4 })
    );
  });
  return frame(heading, TOP + 24 + height + BELOW + 8, linePanel(panel, box), ...key);
}
