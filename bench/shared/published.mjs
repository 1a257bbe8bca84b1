/** bench/published.json: the figures that `npm run capacity` reckons from. Each run has those of its figures that no later run has measured again. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';

const FILE = join('bench', 'published.json');

/**
 * @typedef {{ name: string, of?: string, unit: string, median: number, min: number, max: number }} PublishedFigure `of`: the figure under which it stands
 * @typedef {{ on: string, commit?: string | undefined, cpu?: string | undefined, redis: string, figures: PublishedFigure[] }} PublishedRun
 */

/**
 * @param {readonly PublishedRun[]} runs
 * @param {PublishedRun} run
 * @returns {PublishedRun[]} with the figures of the new run in place of former ones
 */
export function withRun(runs, run) {
  const key = (/** @type {PublishedFigure} */ { of = '', name }) => JSON.stringify([of, name]);
  const measured = new Set(run.figures.map(key));
  const former = runs.map((each) => ({ ...each, figures: each.figures.filter((figure) => !measured.has(key(figure))) }));
  return [...former.filter(({ figures }) => figures.length > 0), run];
}

/**
 * @param {readonly import('./figures.mjs').Figure[]} rows
 * @returns {PublishedFigure[]}
 */
export function publishedFigures(rows) {
  /** @type {string | undefined} */
  let of;
  return rows.map(({ name, unit, median, min, max }) => {
    const isPart = name.startsWith(' ');
    if (!isPart) of = name;
    return { ...(isPart && of !== undefined && { of }), name: name.trim(), unit, median, min, max };
  });
}

/**
 * @param {PublishedRun} run
 * @param {boolean} whole the figures of all benches: nothing of before stays
 * @returns {string} the file, relative to the checkout
 */
export function keepRun(run, whole) {
  const path = join(ROOT, FILE);
  /** @type {PublishedRun[]} */
  const runs = !whole && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).runs : [];
  writeFileSync(path, `${JSON.stringify({ runs: withRun(runs, run) }, null, 2)}\n`);
  return FILE;
}
