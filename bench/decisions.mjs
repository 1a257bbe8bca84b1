/** Decisions a second in one process: of the pure functions, and of the store in memory. */
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { ENDLESS_LIMITS } from './shared/algorithms.mjs';
import { figure, interleaved, rate, ratios } from './shared/figures.mjs';
import { installPeers } from './shared/peers.mjs';

export const title = 'decisions a second in one process, on one core';

const KEYS = 1_000_000;
const FEW_KEYS = 1_000;
const GOAL = { atLeast: 10_000_000 };
const WITHIN_MS = 120_000;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, quick, say }) {
  await installPeers(workshop, say);
  const measureMs = Math.min(seconds, 2) * 1000;

  /** @param {string} subject @param {object} settings @returns {Promise<{ perSecond: number, bytesPerKey: number }>} */
  async function decisions(subject, settings) {
    const script = join(ROOT, 'bench', 'load', 'decisions.mjs');
    const args = ['--expose-gc', '--max-old-space-size=4096', script, subject, JSON.stringify({ ...settings, measureMs })];
    const job = workshop.start(process.execPath, { measured: true, args, env: { NODE_ENV: 'production' } });
    const result = JSON.parse(await job.line((line) => line.startsWith('{'), WITHIN_MS));
    await job.ended;
    return result;
  }

  const pure = await interleaved(
    rounds,
    Object.fromEntries(Object.entries(ENDLESS_LIMITS).map(([name, limit]) => [name, () => decisions('pure', { limit })])),
  );
  for (const [name, results] of Object.entries(pure)) say(`pure, ${name}: ${rate(results[0]?.perSecond ?? NaN)}`);

  const keys = quick ? KEYS / 10 : KEYS;
  const stores = await interleaved(
    rounds,
    Object.fromEntries(
      ['tollgate', 'flexible', 'map'].flatMap((subject) =>
        [keys, FEW_KEYS].map((count) => [`${subject} ${count}`, () => decisions(subject, { keys: count })]),
      ),
    ),
    (side, round, { perSecond, bytesPerKey }) =>
      say(`round ${round}: ${side} keys: ${rate(perSecond)}, ${Math.round(bytesPerKey)} bytes a key`),
  );
  const perSecond = (/** @type {string} */ subject, count = keys) =>
    (stores[`${subject} ${count}`] ?? []).map((result) => result.perSecond);
  const slowdown = (/** @type {string} */ subject) => ratios(perSecond(subject, FEW_KEYS), perSecond(subject));
  return [
    ...Object.entries(pure).map(([name, results]) =>
      figure(
        `pure: ${name}`,
        results.map((result) => result.perSecond),
        { unit: '/s', ...(['token_bucket', 'gcra'].includes(name) && { goal: GOAL }) },
      ),
    ),
    figure('memory store / rate-limiter-flexible, 1,000,000 keys', ratios(perSecond('tollgate'), perSecond('flexible')), {
      goal: { atLeast: 5 },
      details: stores,
    }),
    figure(
      'memory store: a key',
      (stores[`tollgate ${keys}`] ?? []).map(({ bytesPerKey }) => bytesPerKey),
      { unit: 'B', goal: { atMost: 100 } },
    ),
    figure('memory store: slowdown from 1,000 keys / that of a bare Map', ratios(slowdown('tollgate'), slowdown('map')), {
      goal: { atMost: 1 },
    }),
    figure('  memory store, 1,000,000 keys', perSecond('tollgate'), { unit: '/s' }),
    figure('  rate-limiter-flexible, 1,000,000 keys', perSecond('flexible'), { unit: '/s' }),
    figure('  a bare Map, 1,000,000 keys', perSecond('map'), { unit: '/s' }),
  ];
}
