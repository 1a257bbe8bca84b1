/** Rules as files: apply of 10,000 and 100,000 rules, against plain INSERTs of as many rules, and the memory of the Rules API meanwhile. */
import { apply, documentOf, plainInserts, startApi } from './shared/apply-bed.mjs';
import { figure, interleaved, megabytes, ratios } from './shared/figures.mjs';

export const title = 'apply of a file against plain INSERTs of the same rules';

const SIZES = [10_000, 100_000];
/** A round takes minutes, and its ratio compares neighbours in time. */
const MOST_ROUNDS = 3;
const LONGEST_SECONDS = 60;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run(bench) {
  const figures = [];
  for (const size of SIZES) figures.push(...(await measure(bench, bench.quick ? size / 10 : size)));
  return figures;
}

/** @param {import('./run.mjs').Bench} bench @param {number} size */
async function measure({ workshop, rounds, say }, size) {
  const postgres = await workshop.postgres();
  const document = documentOf(size);
  const all = size + document.merchants.length;
  let databases = 0;
  /** @type {Awaited<ReturnType<typeof startApi>> | undefined} */
  let api;
  const named = size.toLocaleString('en');
  /** @type {Record<string, () => Promise<import('./shared/apply-bed.mjs').Applied | { seconds: number }>>} */
  const sides = {
    create: async () => {
      await api?.stop();
      api = await startApi(workshop, postgres, `rules_${databases++}`);
      await apply(api, postgres, documentOf(100), 110);
      return apply(api, postgres, document, all - 110);
    },
    plain: () => plainInserts(/** @type {NonNullable<typeof api>} */ (api).databaseUrl, document),
    nothing: () => apply(/** @type {NonNullable<typeof api>} */ (api), postgres, document, 0),
    update: () => apply(/** @type {NonNullable<typeof api>} */ (api), postgres, documentOf(size, { priority: 200 }), size),
  };
  const results = await interleaved(Math.min(rounds, MOST_ROUNDS), sides, (side, round, result) =>
    say(`round ${round}: ${named} rules, ${side.padEnd(7)} ${inWords(result)}`),
  );
  await api?.stop();
  const seconds = (/** @type {string} */ side) => (results[side] ?? []).map((result) => result.seconds);
  const goal = { atMost: LONGEST_SECONDS };
  const risen = [...(results['create'] ?? []), ...(results['update'] ?? [])].map(
    (result) => /** @type {import('./shared/apply-bed.mjs').Applied} */ (result).risenBytes,
  );
  return [
    figure(`apply: ${named} new rules / plain INSERTs`, ratios(seconds('create'), seconds('plain')), { details: results }),
    figure(`  ${named} new rules`, seconds('create'), { unit: 's', goal }),
    figure(`  ${named} changed rules`, seconds('update'), { unit: 's', goal }),
    figure(`  ${named} rules as they are`, seconds('nothing'), { unit: 's', goal }),
    figure(`  plain INSERTs of ${named} rules`, seconds('plain'), { unit: 's' }),
    figure(
      `  memory of the Rules API, risen by`,
      risen.map((bytes) => bytes / 2 ** 20),
      { unit: 'MB' },
    ),
  ];
}

/** @param {import('./shared/apply-bed.mjs').Applied | { seconds: number }} result */
function inWords(result) {
  const wall = `${result.seconds.toFixed(1)} s`;
  if (!('peakBytes' in result)) return wall;
  const { apiCpuSeconds, postgresCpuSeconds, peakBytes, documentBytes } = result;
  return `${wall}, CPU ${apiCpuSeconds.toFixed(1)} s API, ${postgresCpuSeconds.toFixed(1)} s PostgreSQL, ${megabytes(peakBytes)} at most, document ${megabytes(documentBytes)}`;
}
