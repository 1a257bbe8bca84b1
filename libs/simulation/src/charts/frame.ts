import { element, escape, text } from './svg.js';
import { STYLE } from './theme.js';

/** Where something is drawn, in units of the picture. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Heading {
  readonly title: string;
  /** What was simulated: pattern, bound, seed. */
  readonly subtitle: string;
}

export const WIDTH = 880;
export const MARGIN = 24;
/** Where the drawing begins under the heading. */
export const TOP = 76;

/** A whole picture: its own ground, so that it is legible on any page, and its name for those who cannot see it. */
export function frame({ title, subtitle }: Heading, height: number, ...children: readonly string[]): string {
  const picture = element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${Math.ceil(height)}`,
      width: WIDTH,
      height: Math.ceil(height),
      role: 'img',
      'aria-label': `${title}. ${subtitle}`,
    },
    element('title', {}, escape(title)),
    element('style', {}, STYLE),
    element('rect', { class: 'ground', width: '100%', height: '100%', rx: 6 }),
    text(title, { class: 'title', x: MARGIN, y: 34 }),
    text(subtitle, { class: 'quiet', x: MARGIN, y: 54 }),
    ...children,
  );
  return `${picture}\n`;
}
