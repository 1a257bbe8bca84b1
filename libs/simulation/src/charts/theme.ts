import type { Config } from 'vega-lite';

/** By day and by night; contrast with the ground is at least 4.5 to 1 in both. Distinct in light mode, so that each maps to one dark colour. */
const COLOURS = {
  ground: ['#ffffff', '#14181d'],
  ink: ['#1c2024', '#e8eaed'],
  quiet: ['#5a6169', '#a2abb5'],
  rule: ['#d9dde2', '#343b44'],
  shade: ['#c4c8cd', '#4a525c'],
  mark: ['#b00020', '#ff8a94'],
  accent: ['#b34700', '#f0a050'],
  plain: ['#5b7f9f', '#6f9ac0'],
} as const;

/** Of lines: told apart by colour-blind readers too (after Okabe and Ito), and by dashes besides. */
const SERIES = [
  ['#0060a0', '#5cb8f0'],
  ['#b44800', '#f1a151'],
  ['#00755a', '#3fcf9f'],
  ['#9b3a80', '#e29ac8'],
  ['#6a5a00', '#e0cf3a'],
  ['#a3172b', '#ff8590'],
  ['#4b4bb8', '#a9a9ff'],
] as const;

export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 2]];

export const SERIES_COLOURS: readonly string[] = SERIES.map(([day]) => day);

/** The colours that are written into the picture. */
export const DAY = Object.fromEntries(Object.entries(COLOURS).map(([name, [day]]) => [name, day])) as Record<keyof typeof COLOURS, string>;

/**
 * Every colour stands as an attribute, which all renderers read. Those that know style sheets, and are asked for a dark picture, replace
 * each by its counterpart.
 */
export const NIGHT_STYLE = `@media (prefers-color-scheme:dark){${[...Object.values(COLOURS), ...SERIES]
  .flatMap(([day, night]) => ['fill', 'stroke'].map((property) => `[${property}="${day}"]{${property}:${night}}`))
  .join('')}}`;

export const WIDTH = 880;
export const MARGIN = 24;

export const FACET_SPACING = 24;

export const CONFIG: Config = {
  // One name for the whole picture, and not one for each of its axes.
  aria: false,
  background: DAY.ground,
  padding: MARGIN,
  font: 'system-ui, sans-serif',
  title: { anchor: 'start', color: DAY.ink, fontSize: 12, fontWeight: 600, offset: 8, subtitleColor: DAY.quiet, subtitleFontSize: 12 },
  view: { stroke: null },
  concat: { spacing: 28 },
  facet: { spacing: FACET_SPACING },
  header: { title: null, labelAnchor: 'start', labelColor: DAY.ink, labelFontSize: 12, labelFontWeight: 600 },
  axis: {
    labelColor: DAY.quiet,
    labelFontSize: 11,
    titleColor: DAY.quiet,
    titleFontSize: 11,
    titleFontWeight: 400,
    gridColor: DAY.rule,
    domainColor: DAY.quiet,
    ticks: false,
    labelPadding: 6,
  },
  axisX: { grid: false },
  axisY: { domain: false, titleAngle: 0, titleAnchor: 'end', titleAlign: 'left', titleX: -30, titleY: -10 },
  legend: { title: null, labelColor: DAY.ink, labelFontSize: 12, labelLimit: 220, symbolSize: 900, symbolStrokeWidth: 2, rowPadding: 8 },
  rule: { color: DAY.mark, strokeDash: [4, 3] },
  text: { color: DAY.quiet, fontSize: 12 },
  line: { strokeWidth: 1.8, strokeJoin: 'round' },
};
