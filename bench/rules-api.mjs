/** The Rules API with a million merchants and three million rules: what it answers, how soon gateways feel a change, and what the apps need. */
import { performance } from 'node:perf_hooks';
import { bundleOf } from '../scripts/paths.mjs';
import { freePort } from '../scripts/ports.mjs';
import { apply, documentOf } from './shared/apply-bed.mjs';
import { figure, median, megabytes } from './shared/figures.mjs';
import { acquaint, feltByAll, feltEverywhere, startGateways, startPreloader } from './shared/gateway-fleet.mjs';
import { merchantId } from './shared/merchants.mjs';
import { cpuSeconds, residentBytes } from './shared/proc.mjs';
import { PAGE, RulesApiClient, TOKEN } from './shared/rules-api-client.mjs';
import { fillWithRules, ofPlan, PLAN, QUOTA, RULE_SEARCHES, RULES_OF_A_MERCHANT, SEARCHES, SHARED_PATH } from './shared/rules-bed.mjs';

export const title = 'the Rules API with a million merchants';

const MERCHANTS = 1_000_000;
const MERCHANTS_QUICK = 10_000;
const START_TIMEOUT_MS = 60_000;
/** Answers that a percentile is made of. */
const SAMPLES = 1_000;
/** Changes of a rule that are waited for at the gateways. */
const CHANGES = 200;
const CHANGES_QUICK = 10;
const PLAN_EDITS = 5;
/** Merchants of the plan whose requests each gateway is asked about after an edit, and those that it knows before. */
const SAMPLED = 250;
const KNOWN = 25_000;
/** Of each end of a list that are read. */
const PAGES = 100;
const APPLIED_RULES = 100_000;
const APPLIED_RULES_QUICK = 1_000;
const OWN_PATH = '/transactions/7';

const GOALS = { searchMs: 100, explainMs: 5, pages: 1.5, changeMs: 250, planMs: 2_000, applySeconds: 60 };

/** @typedef {import('./shared/figures.mjs').Figure} Figure */

/**
 * @typedef {object} Bed what the parts stand on
 * @property {import('./run.mjs').Bench} bench
 * @property {number} merchants
 * @property {RulesApiClient} api
 * @property {{ url: string, pid: number }} postgres
 * @property {{ DATABASE_URL: string, REDIS_URL: string }} stores
 */

/** @param {import('./run.mjs').Bench} bench @returns {Promise<Figure[]>} */
export async function run(bench) {
  const { workshop, quick, say } = bench;
  const merchants = quick ? MERCHANTS_QUICK : MERCHANTS;
  const [postgres, redis] = [await workshop.postgres(), await workshop.redis()];
  const startedMs = performance.now();
  await fillWithRules(postgres.url, merchants);
  say(
    `${merchants.toLocaleString('en')} merchants with ${RULES_OF_A_MERCHANT} rules each, made in ${Math.round((performance.now() - startedMs) / 1000)} s`,
  );
  const port = await freePort();
  const job = workshop.node(bundleOf('rules-api'), {
    measured: true,
    env: { DATABASE_URL: postgres.url, BUCKETS_REDIS_URL: redis.url, RULES_API_PORT: String(port), TOLLGATE_ADMIN_TOKEN: TOKEN },
  });
  await job.line((line) => line.includes('migrated and ready'), START_TIMEOUT_MS);
  const api = new RulesApiClient(port, job.pid);
  try {
    const bed = { bench, merchants, api, postgres, stores: { DATABASE_URL: postgres.url, REDIS_URL: redis.url } };
    const figures = [];
    for (const part of [answers, changesFelt, applied]) {
      const measured = await part(bed);
      // Told at once: the whole takes minutes, and what fails later must not take this with it.
      for (const { name, median: value, unit } of measured) say(`${name}: ${value.toFixed(2)} ${unit}`);
      figures.push(...measured);
    }
    return figures;
  } finally {
    await api.close();
  }
}

/** What administrators ask. @param {Bed} bed @returns {Promise<Figure[]>} */
async function answers({ bench: { seconds, warmupSeconds }, merchants, api }) {
  const anyMerchant = () => merchantId(Math.floor(Math.random() * merchants));
  const explain = () =>
    api.ask('POST', '/v1/explain', { merchantId: anyMerchant(), request: { method: 'POST', path: OWN_PATH } }).then(() => undefined);
  const read = await api.loop(seconds, () => api.ask('GET', `/v1/merchants/${anyMerchant()}/rules`));
  const write = await api.loop(seconds, (n) => api.ask('PATCH', `/v1/merchants/${anyMerchant()}`, { name: `Renamed ${n}` }));
  const pages = [];
  for (const list of listsOf(merchants)) pages.push({ ...list, ...(await api.ends(list)) });
  const searches = await api.timesOf(SAMPLES, (n) => api.ask('GET', `/v1/merchants?${SEARCHES[n % SEARCHES.length]}`));
  const ofRules = await api.timesOf(SAMPLES, (n) =>
    api.ask('GET', `/v1/merchants/${anyMerchant()}/rules?${RULE_SEARCHES[n % RULE_SEARCHES.length]}`),
  );
  // A process that has explained nothing yet compiles meanwhile, on the one core that it has here.
  await api.loop(warmupSeconds, explain);
  const before = cpuSeconds(api.pid) ?? NaN;
  const explanations = await api.timesOf(SAMPLES, explain);
  const explainCpuMs = (((cpuSeconds(api.pid) ?? NaN) - before) / SAMPLES) * 1000;
  const named = merchants.toLocaleString('en');
  return [
    figure(`rules-api: rules of one of ${named} merchants`, [read.perSecond], { unit: '/s' }),
    figure('  p99', [percentile(read.timesMs, 0.99)], { unit: 'ms' }),
    figure('rules-api: changes of merchants', [write.perSecond], { unit: '/s' }),
    figure('  p99', [percentile(write.timesMs, 0.99)], { unit: 'ms' }),
    ...pages.map(({ name, ...times }) =>
      figure(`rules-api: last pages of the list${name} / first pages`, [times.last / times.first], {
        goal: { atMost: GOALS.pages },
        details: times,
      }),
    ),
    figure('rules-api: search by name, label or plan, p99', [percentile(searches, 0.99)], {
      unit: 'ms',
      goal: { atMost: GOALS.searchMs },
      details: bySearch(searches),
    }),
    figure('rules-api: search of rules of a merchant by path, label, algorithm or state, p99', [percentile(ofRules, 0.99)], {
      unit: 'ms',
      goal: { atMost: GOALS.searchMs },
    }),
    figure('rules-api: explain, p99', [percentile(explanations, 0.99)], { unit: 'ms', goal: { atMost: GOALS.explainMs } }),
    figure('  median', [median(explanations)], { unit: 'ms' }),
    figure('  CPU of the Rules API', [explainCpuMs], { unit: 'ms' }),
    figure('memory of the Rules API', [(residentBytes(api.pid) ?? NaN) / 2 ** 20], { unit: 'MB' }),
  ];
}

/**
 * Lists of merchants that are compared at their two ends, each with a merchant that is some pages before its end.
 * @param {number} merchants
 */
function listsOf(merchants) {
  const list = (/** @type {string} */ name, /** @type {number} */ oneIn, filter = '') => {
    const pages = Math.min(PAGES, Math.floor(merchants / oneIn / PAGE / 2));
    const beforeEnd = merchantId(merchants - (pages - 1) * PAGE * oneIn);
    return { name, filter, pages, last: merchantId(merchants - oneIn), beforeEnd };
  };
  return [list('', 1), list(', by plan,', 10, `&plan=${PLAN}`), list(', by label,', 4, '&label=region%3Deu')];
}

/** The median of each. @param {number[]} timesMs */
function bySearch(timesMs) {
  return Object.fromEntries(SEARCHES.map((query, i) => [query, median(timesMs.filter((_, n) => n % SEARCHES.length === i))]));
}

/** How soon four gateways decide by a rule, and by a plan, that was changed. @param {Bed} bed @returns {Promise<Figure[]>} */
async function changesFelt({ bench: { workshop, quick, say }, merchants, api, stores }) {
  const preloader = await startPreloader(workshop, stores);
  if (preloader.merchants !== merchants) throw new Error(`the preloader carried ${preloader.merchants} merchants, not ${merchants}`);
  say(`all of them preloaded in ${preloader.seconds.toFixed(1)} s, by at most ${megabytes(preloader.peakBytes)}`);
  const fleet = await startGateways(workshop, stores);
  try {
    const rule = await ruleChanges(api, fleet.gateways, { merchants, changes: quick ? CHANGES_QUICK : CHANGES });
    const ofOnePlan = await planEdits(api, fleet.gateways, merchants);
    const { count } = ofOnePlan;
    say(`gateways with ${count.toLocaleString('en')} merchants of the plan: at most ${megabytes(fleet.bytes())} each`);
    return [
      figure('a changed rule enforced at four gateways, p99', [percentile(rule, 0.99)], { unit: 'ms', goal: { atMost: GOALS.changeMs } }),
      figure('  median', [median(rule)], { unit: 'ms' }),
      figure(`a plan edit enforced at four gateways for ${count.toLocaleString('en')} merchants`, ofOnePlan.timesMs, {
        unit: 'ms',
        goal: { atMost: GOALS.planMs },
      }),
      figure('memory of the preloader, at most', [preloader.peakBytes / 2 ** 20], { unit: 'MB' }),
      figure(`memory of a gateway that knows ${(count / 4).toLocaleString('en')} merchants`, [fleet.bytes() / 2 ** 20], { unit: 'MB' }),
    ];
  } finally {
    await fleet.stop();
    await preloader.job.stop();
  }
}

/**
 * Changes rules of merchants that all gateways know, one after the other.
 * @param {RulesApiClient} api
 * @param {import('./shared/gateway-fleet.mjs').Gateway[]} gateways
 * @param {{ merchants: number, changes: number }} options
 */
async function ruleChanges(api, gateways, { merchants, changes }) {
  const timesMs = [];
  for (let n = 0; n < changes; n++) {
    const id = merchantId(Math.floor((n / changes) * merchants) + 1);
    await acquaint(gateways, Array(gateways.length).fill([id]), OWN_PATH, QUOTA);
    const { items } = await api.ask('GET', `/v1/merchants/${id}/rules`);
    await api.ask('PATCH', `/v1/merchants/${id}/rules/${items[0].id}`, { limits: limitsOf(QUOTA + 1) });
    timesMs.push(await feltEverywhere(gateways, id, OWN_PATH, QUOTA + 1, performance.now()));
  }
  return timesMs;
}

/**
 * Edits the rule of the plan. Each gateway knows a quarter of the plan's merchants, and is asked about some of them until all feel it.
 * @param {RulesApiClient} api
 * @param {import('./shared/gateway-fleet.mjs').Gateway[]} gateways
 * @param {number} merchants
 */
async function planEdits(api, gateways, merchants) {
  const each = Math.min(KNOWN, Math.floor(ofPlan(merchants).length / gateways.length));
  const known = gateways.map((_, i) => ofPlan(merchants).slice(i * each, (i + 1) * each));
  await acquaint(gateways, known, SHARED_PATH, QUOTA);
  const step = Math.max(1, Math.floor(each / SAMPLED));
  const sampled = known.map((ids) => ids.filter((_, i) => i % step === 0).slice(0, SAMPLED));
  const { items } = await api.ask('GET', `/v1/plans/${PLAN}/rules`);
  const timesMs = [];
  for (let n = 1; n <= PLAN_EDITS; n++) {
    await api.ask('PATCH', `/v1/plans/${PLAN}/rules/${items[0].id}`, { limits: limitsOf(QUOTA + n) });
    timesMs.push(await feltByAll(gateways, sampled, SHARED_PATH, QUOTA + n, performance.now()));
  }
  return { timesMs, count: each * gateways.length };
}

/** @param {number} capacity */
const limitsOf = (capacity) => [{ name: 'steady', algorithm: 'token_bucket', capacity, refillTokens: 100, refillIntervalMs: 1000 }];

/** A file of new merchants and rules, beside those that are there. @param {Bed} bed @returns {Promise<Figure[]>} */
async function applied({ bench: { quick }, api, postgres }) {
  const rules = quick ? APPLIED_RULES_QUICK : APPLIED_RULES;
  const document = documentOf(rules, { prefix: 'applied-' });
  const { seconds, peakBytes } = await apply({ url: api.url, pid: api.pid }, postgres, document, rules + document.merchants.length);
  return [
    figure(`apply of ${rules.toLocaleString('en')} new rules`, [seconds], { unit: 's', goal: { atMost: GOALS.applySeconds } }),
    figure('  memory of the Rules API, at most', [peakBytes / 2 ** 20], { unit: 'MB' }),
  ];
}

/** @param {number[]} values @param {number} share */
function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
