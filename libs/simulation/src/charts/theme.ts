/** Colours and letters. The reader's system says whether it is light or dark; contrast is at least 4.5 to 1 in both. */

/** Light and dark, for lines and bars; told apart by colour-blind readers too (after Okabe and Ito), and by dashes besides. */
const SERIES = [
  ['#0060a0', '#5cb8f0'],
  ['#b34700', '#f0a050'],
  ['#00755a', '#3fcf9f'],
  ['#9b3a80', '#e29ac8'],
  ['#6a5a00', '#e0cf3a'],
  ['#a3172b', '#ff8590'],
  ['#4b4bb8', '#a9a9ff'],
  ['#4a6a10', '#a8d25a'],
  ['#5d5d5d', '#b8b8b8'],
] as const;

const DASHES = ['', '7 3', '2 3', '9 3 2 3', '4 4', '12 4', '1 2', '6 2 1 2 1 2', '3 1'];

/** The look of the n-th series: class names, repeated when there are more series than looks. */
export const lookOf = (index: number): string => `s${index % SERIES.length}`;

const series = (mode: 0 | 1): string => SERIES.map((colours, i) => `.s${i}{--c:${colours[mode]}}`).join('');

export const STYLE = [
  'svg{--ground:#fff;--ink:#1c2024;--quiet:#5a6169;--rule:#d9dde2;--mark:#b00020;font-family:system-ui,sans-serif;font-size:12px}',
  series(0),
  `@media (prefers-color-scheme:dark){svg{--ground:#14181d;--ink:#e8eaed;--quiet:#a2abb5;--rule:#343b44;--mark:#ff8a94}${series(1)}}`,
  '.ground{fill:var(--ground)}text{fill:var(--ink)}.quiet{fill:var(--quiet)}.title{font-size:17px;font-weight:600}.name{font-weight:600}',
  '.rule{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--quiet);stroke-width:1}',
  '.mark{stroke:var(--mark);stroke-width:1;stroke-dasharray:4 3}.marked{fill:var(--mark)}',
  '.line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}.bar{fill:var(--c)}',
  '.reference{fill:var(--quiet);fill-opacity:.3;stroke:none}',
  DASHES.map((dash, i) => (dash ? `.dashed.s${i}{stroke-dasharray:${dash}}` : '')).join(''),
].join('');
