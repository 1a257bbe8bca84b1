/** Decisions through the whole enforcer that are Redis's, leased, or optimistic: how many a second, and what each costs Redis. */
import { join } from 'node:path';
import { cpuSeconds } from './shared/proc.mjs';
import { ROOT } from '../scripts/paths.mjs';
import { figure, interleaved, rate, ratios } from './shared/figures.mjs';

export const title = 'decisions that need no round trip';

const MERCHANTS = 100_000;
/** The longest that there is: the least of 100,000 merchants comes seven times meanwhile, at the decisions a second that are the goal. */
const LEASE_HORIZON_MS = 10_000;
/** One merchant alone needs no more, and npm run capacity reckons with what its lease costs then. */
const USUAL_HORIZON_MS = 1_000;
/** In which all of them have come to their leases, who first have to come four times. */
const WARMUP_OF_MANY_MS = 30_000;
/** So that the rules of all merchants are in memory. */
const RULE_CACHE_BYTES = 256 * 2 ** 20;
const WITHIN_MS = 300_000;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();

  /** @param {string} consistency @param {number} merchants @returns {Promise<{ perSecond: number, cpuUsEach: number, takesEach: number, refused: number, reportsPerSecond: number, redisMicros: number }>} redisMicros: of a take or report */
  async function decisions(consistency, merchants) {
    const ownWarmupMs = Math.max(2, warmupSeconds) * 1000;
    const settings = {
      redisUrl: redis.url,
      consistency,
      merchants,
      measureMs: seconds * 1000,
      warmupMs: consistency === 'leased' && merchants > 1 && !quick ? WARMUP_OF_MANY_MS : ownWarmupMs,
      leaseHorizonMs: merchants > 1 ? LEASE_HORIZON_MS : USUAL_HORIZON_MS,
      ruleCacheBytes: RULE_CACHE_BYTES,
    };
    const args = [join(ROOT, 'bench', 'load', 'leases.mjs'), JSON.stringify(settings)];
    const job = workshop.start(process.execPath, { measured: true, args, env: { NODE_ENV: 'production' } });
    await job.line((line) => line === 'measuring', WITHIN_MS);
    const before = cpuSeconds(redis.pid) ?? NaN;
    const result = JSON.parse(await job.line((line) => line.startsWith('{'), WITHIN_MS));
    const used = (cpuSeconds(redis.pid) ?? NaN) - before;
    await job.ended;
    return { ...result, redisMicros: (1e6 * used) / (result.takes + result.reports) };
  }

  const many = quick ? MERCHANTS / 100 : MERCHANTS;
  const results = await interleaved(
    rounds,
    Object.fromEntries(
      ['exact', 'leased', 'optimistic'].flatMap((consistency) =>
        [many, 1].map((merchants) => [`${consistency} ${merchants}`, () => decisions(consistency, merchants)]),
      ),
    ),
    (side, round, { perSecond, cpuUsEach, takesEach, refused }) =>
      say(
        `round ${round}: ${side} merchants: ${rate(perSecond)}, ${cpuUsEach.toFixed(2)} us of a core and ${takesEach.toFixed(4)} takes each, ${refused} refused`,
      ),
  );
  const of = (/** @type {string} */ consistency, /** @type {number} */ merchants) => results[`${consistency} ${merchants}`] ?? [];
  const speed = (/** @type {string} */ consistency, merchants = many) => of(consistency, merchants).map(({ perSecond }) => perSecond);
  const takes = (/** @type {string} */ consistency, merchants = many) => of(consistency, merchants).map(({ takesEach }) => takesEach);
  const cpu = (/** @type {string} */ consistency) => of(consistency, many).map(({ cpuUsEach }) => cpuUsEach);
  /** What Redis spends on a core of its own counts as well: an exact decision has most of its cost there. */
  const cpuWithRedis = (/** @type {string} */ consistency) =>
    of(consistency, many).map(({ cpuUsEach, takesEach, redisMicros }) => cpuUsEach + takesEach * redisMicros);
  return [
    figure('leased / exact, Zipf over 100,000 merchants', ratios(speed('leased'), speed('exact')), {
      goal: { atLeast: 3.5 },
      details: results,
    }),
    figure('  leased: takes of Redis for a decision', takes('leased'), { goal: { atMost: 0.1 } }),
    figure('  exact / leased, in time of a core for a decision', ratios(cpu('exact'), cpu('leased'))),
    figure('  the same, with the time of Redis', ratios(cpuWithRedis('exact'), cpuWithRedis('leased'))),
    figure('  exact, through the whole enforcer', speed('exact'), { unit: '/s' }),
    figure('  leased, through the whole enforcer', speed('leased'), { unit: '/s', goal: { atLeast: 300_000 } }),
    figure(
      '  leased: Redis CPU a take or report',
      of('leased', many).map(({ redisMicros }) => redisMicros),
      { unit: 'us' },
    ),
    figure('  optimistic, through the whole enforcer', speed('optimistic'), { unit: '/s' }),
    figure('  optimistic: takes of Redis for a decision', takes('optimistic')),
    figure('one hot merchant, leased: takes of Redis for a decision', takes('leased', 1), { goal: { atMost: 0.01 } }),
    figure('  leased / exact', ratios(speed('leased', 1), speed('exact', 1))),
    figure('  leased', speed('leased', 1), { unit: '/s' }),
    // However many decisions they are: npm run capacity multiplies it by workers and buckets.
    figure(
      '  leased: reports a second',
      of('leased', 1).map(({ reportsPerSecond }) => reportsPerSecond),
      { unit: '/s' },
    ),
    figure('  optimistic: takes of Redis for a decision', takes('optimistic', 1)),
  ];
}
