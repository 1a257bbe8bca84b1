import * as vega from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import { CONFIG, NIGHT_STYLE } from './theme.js';

/** Documented, but missing from the types of Vega. */
const { textMetrics, resetSVGDefIds } = vega as unknown as {
  textMetrics: { width: (item: { fontSize?: number }, text: string) => number };
  resetSVGDefIds: () => void;
};

export interface Heading {
  readonly title: string;
  /** What was simulated: pattern, bound, seed. */
  readonly subtitle: string;
  /** What is to be seen, and why: a line each. */
  readonly notes?: readonly string[];
}

/** A picture as SVG text: legible on any page, by day and by night, and with its name for those who cannot see it. */
export async function render({ title, subtitle, notes = [] }: Heading, spec: object): Promise<string> {
  const heading = { text: title, fontSize: 17, subtitle: [subtitle, ...notes], subtitleLineHeight: 17, subtitlePadding: 8, offset: 24 };
  const whole = { ...spec, title: heading, config: CONFIG } as TopLevelSpec;
  const view = new vega.View(vega.parse(compile(whole).spec), { renderer: 'none' });
  // Ids are counted over the whole process; a picture is to be the same whatever was drawn before it.
  resetSVGDefIds();
  const svg = await view.toSVG();
  view.finalize();
  return `${named(rounded(withoutFrames(svg)), [title, subtitle, ...notes].join('. '))}\n`;
}

/** Nobody sees Vega's empty frames; its names of parts would be read beside ours. */
function withoutFrames(svg: string): string {
  return svg.replace(/<path class="(foreground|background)"[^>]*\/>/g, '').replace(/ (aria-[a-z]+|role)="[^"]*"/g, '');
}

const GEOMETRY = /\b(d|transform|x|y|x1|x2|y1|y2|width|height)="([^"]*)"/g;

/** A tenth of a pixel is enough, halves the files, and does not depend on how a machine computes the last digits. */
function rounded(svg: string): string {
  return svg.replace(GEOMETRY, (_, name: string, value: string) => {
    const short = value.replace(/-?\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10));
    return `${name}="${short}"`;
  });
}

/** Without a canvas Vega takes every character to be as wide as an M; this is what letters of common fonts are wide on average. */
const WIDTH_OF_A_LETTER = 0.56;
textMetrics.width = ({ fontSize = 11 }, text) => WIDTH_OF_A_LETTER * fontSize * String(text).length;

function named(svg: string, name: string): string {
  const escaped = name.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return svg.replace(/<svg ([^>]*)>/, (_, attributes: string) => {
    const style = `<style>${NIGHT_STYLE}</style>`;
    return `<svg ${attributes} role="img" aria-label="${escaped}">${style}`;
  });
}
