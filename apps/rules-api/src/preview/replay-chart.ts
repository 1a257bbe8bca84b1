import type { ReplayView } from './preview.dto.js';

export const SVG = 'image/svg+xml';

/** Pixels. */
const WIDTH = 800;
const LEFT = 70;
const RIGHT = 24;
const PANEL_HEIGHT = 140;
const PANEL_GAP = 52;
const TOP = 96;
const BOTTOM = 40;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const HEIGHT = TOP + 2 * PANEL_HEIGHT + PANEL_GAP + BOTTOM;

/** Colours that are told apart by day and by night, and by those who see no red or green. */
const STYLE =
  'text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:17px;font-weight:600}.passed{fill:#4477aa}.refused{fill:#ee6677}.axis{stroke:#888}' +
  '@media(prefers-color-scheme:dark){text{fill:#ddd}}';

interface Panel {
  readonly name: string;
  readonly refused: (step: ReplayView['series'][number]) => number;
}

const PANELS: readonly Panel[] = [
  { name: 'now', refused: ({ refusedNow }) => refusedNow },
  { name: 'with the draft', refused: ({ refusedThen }) => refusedThen },
];

/**
 * What passes and what is refused in each step of a replay, by the rules that stand and with the draft: a picture as SVG text, legible on any page and with
 * its name for those who cannot see it.
 */
export function replayChart(replay: ReplayView, merchantId: string): string {
  const { series, requests, refusedNow, refusedThen, truncated } = replay;
  const title = 'What the draft would change';
  const subtitle =
    `${requests} requests of ${merchantId} from ${series[0]?.at ?? '-'} on; refused now ${refusedNow}, with the draft ${refusedThen}` +
    (truncated ? '; the time was up before all were replayed' : '');
  const most = Math.max(1, ...series.map((step) => step.requests));
  const panels = PANELS.map((panel, i) => panelOf(replay, panel, TOP + i * (PANEL_HEIGHT + PANEL_GAP), most));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(`${title}. ${subtitle}`)}">`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${LEFT}" y="26">${title}</text>`,
    `<text x="${LEFT}" y="46">${escaped(subtitle)}</text>`,
    ...keyOf('passed', LEFT),
    ...keyOf('refused', LEFT + 90),
    ...panels,
    `<text x="${LEFT + PLOT_WIDTH / 2}" y="${HEIGHT - 6}" text-anchor="middle">seconds</text>`,
    '</svg>\n',
  ].join('\n');
}

function keyOf(outcome: 'passed' | 'refused', x: number): string[] {
  return [`<rect class="${outcome}" x="${x}" y="58" width="12" height="12"/>`, `<text x="${x + 17}" y="69">${outcome}</text>`];
}

/** Bars from the same foot, refused on passed, and both panels by one measure, so that they can be compared. */
function panelOf({ series, stepMs }: ReplayView, { name, refused }: Panel, top: number, most: number): string {
  const foot = top + PANEL_HEIGHT;
  const stepWidth = PLOT_WIDTH / Math.max(1, series.length);
  const heightOf = (count: number) => (count / most) * PANEL_HEIGHT;
  const bars = series.flatMap((step, i) => {
    const [red, all] = [heightOf(refused(step)), heightOf(step.requests)];
    return [bar('passed', i, foot - all + red, all - red), bar('refused', i, foot - all, red)];
  });
  function bar(outcome: 'passed' | 'refused', i: number, y: number, height: number): string {
    if (height <= 0) return '';
    return `<rect class="${outcome}" x="${short(LEFT + i * stepWidth)}" y="${short(y)}" width="${short(stepWidth * 0.85)}" height="${short(height)}"/>`;
  }
  const seconds = (series.length * stepMs) / 1000;
  return [
    `<text x="${LEFT}" y="${top - 6}">${name}</text>`,
    ...bars.filter((each) => each !== ''),
    `<line class="axis" x1="${LEFT}" y1="${foot}" x2="${LEFT + PLOT_WIDTH}" y2="${foot}"/>`,
    `<text x="${LEFT - 8}" y="${top + 10}" text-anchor="end">${most}</text>`,
    `<text x="${LEFT - 8}" y="${foot}" text-anchor="end">0</text>`,
    `<text x="${LEFT}" y="${foot + 16}">0</text>`,
    `<text x="${LEFT + PLOT_WIDTH}" y="${foot + 16}" text-anchor="end">${short(seconds)}</text>`,
  ].join('\n');
}

/** A tenth of a pixel is enough. */
function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
