/** Looks at the running apps from outside: are they ready, and how many requests were refused? */

const READINESS_EVERY_MS = 2_000;
const REFUSALS_EVERY_MS = 5_000;
const ANSWER_WITHIN_MS = 2_000;

/**
 * @typedef {{ ready: boolean, why: string }} Readiness
 */

/**
 * What an app says of itself.
 * @param {string} managementUrl
 * @returns {Promise<Readiness>}
 */
export async function readinessOf(managementUrl) {
  try {
    const response = await fetch(`${managementUrl}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const body = /** @type {any} */ (await response.json().catch(() => ({})));
    const failed = (body.checks ?? []).filter((/** @type {any} */ check) => !check.ok);
    const why = failed.map((/** @type {any} */ check) => (check.detail ? `${check.name}: ${check.detail}` : check.name)).join('; ');
    return { ready: response.status === 200, why: why || `/readyz says ${response.status}` };
  } catch {
    return { ready: false, why: 'its management port does not answer' };
  }
}

/**
 * Tells of every change of readiness.
 * @param {Record<string, string>} managementUrls by the names of the apps, which are ready now
 * @param {(app: string, text: string) => void} tell
 */
export function watchReadiness(managementUrls, tell) {
  /** @type {Record<string, boolean>} */
  const before = {};
  every(READINESS_EVERY_MS, async () => {
    for (const [app, url] of Object.entries(managementUrls)) {
      const { ready, why } = await readinessOf(url);
      if (ready !== (before[app] ?? true)) tell(app, ready ? 'is ready again' : `is not ready: ${why}`);
      before[app] = ready;
    }
  });
}

/**
 * Tells now and then how many requests the gateway refused.
 * @param {string} managementUrl the gateway's
 * @param {string | undefined} token that of the management
 * @param {(text: string) => void} tell
 */
export async function watchRefusals(managementUrl, token, tell) {
  let before = await requestCounts(managementUrl, token);
  every(REFUSALS_EVERY_MS, async () => {
    const now = await requestCounts(managementUrl, token);
    if (!now) return;
    const counts = Object.entries(now).map(([outcome, count]) => ({ outcome, count: count - (before?.[outcome] ?? 0) }));
    before = now;
    const unusual = counts.filter(({ outcome, count }) => outcome !== 'forwarded' && count > 0);
    if (unusual.length === 0) return;
    const passed = counts.find(({ outcome }) => outcome === 'forwarded')?.count ?? 0;
    tell([`${passed} passed`, ...unusual.map(({ outcome, count }) => `${count} ${outcome.replaceAll('_', ' ')}`)].join(', '));
  });
}

/**
 * @param {string} managementUrl
 * @param {string | undefined} token
 * @returns {Promise<Record<string, number> | undefined>} requests by outcome since the gateway started
 */
async function requestCounts(managementUrl, token) {
  try {
    const response = await fetch(`${managementUrl}/metrics`, {
      headers: token ? { authorization: `Bearer ${token}` } : {},
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    return response.ok ? countsByOutcome(await response.text()) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sums the samples of tollgate_requests_total by their label `outcome`.
 * @param {string} metrics in Prometheus' text format
 * @returns {Record<string, number>}
 */
export function countsByOutcome(metrics) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [, labels = '', value] of metrics.matchAll(/^tollgate_requests_total\{([^}]*)\} (\S+)$/gm)) {
    const outcome = /(?:^|,)outcome="([^"]*)"/.exec(labels)?.[1];
    if (outcome) counts[outcome] = (counts[outcome] ?? 0) + Number(value);
  }
  return counts;
}

/**
 * Repeats something until the process ends, never twice at once.
 * @param {number} ms
 * @param {() => Promise<void>} work
 */
function every(ms, work) {
  let busy = false;
  setInterval(async () => {
    if (busy) return;
    busy = true;
    await work().finally(() => (busy = false));
  }, ms).unref();
}
