/** The charts of growth: one figure by one size, which grows by powers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineChart } from '#simulation';
import { ROOT } from '../../scripts/paths.mjs';

/**
 * @typedef {object} Growth what grew with what
 * @property {string} name of the file
 * @property {string} title
 * @property {string} grows what the sizes are
 * @property {string} unit of the values
 * @property {readonly { size: number, value: number }[]} points
 */

/**
 * @param {Growth} growth
 * @param {{ quick: boolean, subtitle: string }} run the charts of a quick run, which mean nothing, do not replace those of docs/charts
 * @returns {Promise<string>} the file, relative to the checkout
 */
export async function draw({ name, title, grows, unit, points }, { quick, subtitle }) {
  const folder = quick ? join('bench', 'results', 'growth') : join('docs', 'charts', 'growth');
  const sizes = points.map(({ size }) => size);
  const values = points.map(({ value }) => value);
  const svg = await lineChart(
    { title, subtitle },
    {
      x: { label: grows, domain: [Math.min(...sizes), Math.max(...sizes)], log: true, ticks: sizes },
      y: { label: unit, domain: [0, Math.max(...values) * 1.1], nice: true },
      lines: [{ name: unit, points: points.map(({ size, value }) => /** @type {const} */ ([size, value])) }],
    },
  );
  mkdirSync(join(ROOT, folder), { recursive: true });
  const file = join(folder, `${name}.svg`);
  writeFileSync(join(ROOT, file), svg);
  return file;
}
