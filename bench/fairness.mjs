/** What hostile merchants cost the others: their p99 beside twenty of them, against their p99 without. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { announced, startGateway, warmUp } from './shared/http-bed.mjs';
import { cpuSeconds } from './shared/proc.mjs';
import { ruleOf, snapshotOf } from './shared/merchants.mjs';

export const title = 'p99 of the others beside 20 hostile merchants against their quiet p99';

const HOSTILE = 20;
/** What each hostile merchant may send in a second. */
const PER_SECOND = 5;
const LIMIT = {
  name: 'steady',
  algorithm: 'token_bucket',
  capacity: 4 * PER_SECOND,
  refillTokens: PER_SECOND,
  refillIntervalMs: 1000,
  refill: 'greedy',
};

/** 400 a second, a few hundredths of what a gateway can carry: nobody waits without reason. */
const CONNECTIONS = 40;
const EVERY_MS = 100;

/** @typedef {{ serverBusy?: number, p50Ms: number, p99Ms: number, longestMs: number, answers: number, statuses: Record<string, number> }} Result */

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await announced(workshop.node(join(ROOT, 'bench', 'load', 'upstream-with-traps.mjs')));
  const { server, ruled } = await startGateway(workshop, upstream, redis.url);
  const hostile = await writeHostile(redis.url);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });

  /** @returns {Promise<Result>} */
  const others = async () => {
    const settings = {
      port: server.port,
      connections: CONNECTIONS,
      everyMs: EVERY_MS,
      warmupMs: warmupSeconds * 1000,
      measureMs: seconds * 1000,
      merchants: ruled,
    };
    const job = workshop.node(join(ROOT, 'bench', 'load', 'paced-load.mjs'), { args: [JSON.stringify(settings)] });
    const [startedMs, before] = [performance.now(), cpuSeconds(server.pid)];
    const line = await job.line((text) => text.startsWith('{'), (warmupSeconds + seconds) * 1000 + 30_000);
    await job.ended;
    const result = JSON.parse(line);
    const after = cpuSeconds(server.pid);
    if (before !== undefined && after !== undefined) result.serverBusy = (after - before) / ((performance.now() - startedMs) / 1000);
    if (result.answers === 0) throw new Error('nothing was answered in time; is the machine busy with something else?');
    return result;
  };
  const beside = async () => {
    const settings = { port: server.port, merchants: hostile, perSecond: PER_SECOND };
    const job = workshop.node(join(ROOT, 'bench', 'load', 'hostile.mjs'), { args: [JSON.stringify(settings)] });
    await job.line((text) => text === 'attacking', 30_000);
    try {
      return await others();
    } finally {
      await job.stop();
    }
  };
  const results = await interleaved(rounds, { quiet: others, hostile: beside }, (side, round, result) =>
    say(`round ${round}: ${side.padEnd(7)} ${resultText(result)}`),
  );
  const of = (/** @type {'quiet' | 'hostile'} */ side) => /** @type {Result[]} */ (results[side]);
  const p99 = (/** @type {'quiet' | 'hostile'} */ side) => of(side).map(({ p99Ms }) => p99Ms);
  const refused = of('hostile').map(({ answers, statuses }) => answers - (statuses['200'] ?? 0));
  if (!quick && refused.some((count) => count > 0)) say(`answers to the others that are not 200: ${refused.join(', ')}`);
  return [
    figure('others beside 20 hostile merchants: p99 / quiet', ratios(p99('hostile'), p99('quiet')), {
      goal: { atMost: 2 },
      details: results,
    }),
    figure('  p99 quiet', p99('quiet'), { unit: 'ms' }),
    figure('  p99 beside hostile merchants', p99('hostile'), { unit: 'ms' }),
    figure('  answers to others that are not 200', refused, { goal: { atMost: 0 } }),
  ];
}

/** @param {string} redisUrl @returns {Promise<string[]>} their ids */
async function writeHostile(redisUrl) {
  const redis = createRedis(redisUrl, 'queue-worker');
  const ids = Array.from({ length: HOSTILE }, (_, i) => `hostile-${i}`);
  await new RedisSnapshotStore(redis).write(
    ids.map((id, i) => ({ ...snapshotOf(i, { id }), rules: [ruleOf(i, { limit: LIMIT })] })),
    3_600_000,
  );
  redis.disconnect();
  return ids;
}

/** @param {Result} result */
function resultText({ serverBusy, p50Ms, p99Ms, longestMs, answers, statuses }) {
  const wrong = Object.entries(statuses).flatMap(([status, count]) => (status === '200' ? [] : [`${count} times ${status}`]));
  return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, longest ${longestMs.toFixed(0)} ms, ${answers} answers, gateway ${Math.round((serverBusy ?? NaN) * 100)} % of its core${wrong.length > 0 ? `, of which ${wrong.join(', ')}` : ''}`;
}
