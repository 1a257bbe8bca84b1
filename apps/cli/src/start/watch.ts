/** Looks at the running apps from outside: are they ready, and how many requests were refused? */

const READINESS_EVERY_MS = 2_000;
const REFUSALS_EVERY_MS = 5_000;
const ANSWER_WITHIN_MS = 2_000;

export interface Readiness {
  readonly ready: boolean;
  readonly why: string;
}

/** What /readyz answers, as far as it is read here. */
interface ReadinessBody {
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail?: string }[];
}

/** What an app says of itself. */
export async function readinessOf(managementUrl: string): Promise<Readiness> {
  try {
    const response = await fetch(`${managementUrl}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { checks = [] } = (await response.json().catch(() => ({}))) as ReadinessBody;
    const faults = checks.filter(({ ok }) => !ok).map(({ name, detail }) => (detail ? `${name}: ${detail}` : name));
    return { ready: response.status === 200, why: faults.join('; ') || `/readyz says ${response.status}` };
  } catch {
    return { ready: false, why: 'its management port does not answer' };
  }
}

/** Tells of every change of readiness. The apps, with the addresses of their management, are ready now. */
export function watchReadiness(managementUrls: Readonly<Record<string, string>>, tell: (app: string, text: string) => void): void {
  const before: Record<string, boolean> = {};
  every(READINESS_EVERY_MS, async () => {
    for (const [app, url] of Object.entries(managementUrls)) {
      const { ready, why } = await readinessOf(url);
      if (ready !== (before[app] ?? true)) tell(app, ready ? 'is ready again' : `is not ready: ${why}`);
      before[app] = ready;
    }
  });
}

/** Tells now and then how many requests a gateway refused. @param token that of the management */
export async function watchRefusals(managementUrl: string, token: string | undefined, tell: (text: string) => void): Promise<void> {
  let before = await requestCounts(managementUrl, token);
  every(REFUSALS_EVERY_MS, async () => {
    const now = await requestCounts(managementUrl, token);
    if (!now) return;
    const { forwarded = 0, ...others } = increase(before ?? {}, now);
    before = now;
    const unusual = Object.entries(others).filter(([, count]) => count > 0);
    if (unusual.length === 0) return;
    tell([`${forwarded} passed`, ...unusual.map(([outcome, count]) => `${count} ${outcome.replaceAll('_', ' ')}`)].join(', '));
  });
}

type Counts = Readonly<Record<string, number>>;

const increase = (before: Counts, now: Counts): Record<string, number> =>
  Object.fromEntries(Object.entries(now).map(([outcome, count]) => [outcome, count - (before[outcome] ?? 0)]));

/** Requests by outcome since the gateway started. */
async function requestCounts(managementUrl: string, token: string | undefined): Promise<Counts | undefined> {
  try {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const response = await fetch(`${managementUrl}/metrics`, { headers, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return response.ok ? countsByOutcome(await response.text()) : undefined;
  } catch {
    return undefined;
  }
}

/** Sums the samples of tollgate_requests_total by their label `outcome`. @param metrics in Prometheus' text format */
export function countsByOutcome(metrics: string): Counts {
  const counts: Record<string, number> = {};
  for (const [, labels = '', value] of metrics.matchAll(/^tollgate_requests_total\{([^}]*)\} (\S+)$/gm)) {
    const outcome = /(?:^|,)outcome="([^"]*)"/.exec(labels)?.[1];
    if (outcome) counts[outcome] = (counts[outcome] ?? 0) + Number(value);
  }
  return counts;
}

/** Repeats something until the process ends, never twice at once. */
function every(ms: number, work: () => Promise<void>): void {
  let busy = false;
  setInterval(() => {
    if (busy) return;
    busy = true;
    void work().finally(() => (busy = false));
  }, ms).unref();
}
