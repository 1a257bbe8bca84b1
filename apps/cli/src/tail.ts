import { Option } from '@commander-js/extra-typings';
import { setTimeout as sleep } from 'node:timers/promises';
import { asJson, ABOUT_CONNECTION, merchant } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { shownValue } from './shared/any-table.js';
import { CommandError } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, oneOf, wholeNumber } from './shared/options.js';
import { note, print } from './shared/output.js';
import { sinceMs } from './since.js';

type Decision = Readonly<Record<string, unknown>>;

interface Page {
  readonly items: readonly Decision[];
  readonly cursor: string | null;
}

/** Items of a page, the most that the API gives. */
const PAGE_SIZE = 200;

/** For so long the server waits for a decision before it answers that there is none. */
const WAIT_SECONDS = '5';

const PAUSE_MS = 500;

/** Attempts in a row that may fail, once one has succeeded: a server that restarts is back by then. */
const MOST_FAILURES = 60;

const ABOUT = `It begins now, with --since at a moment of the last day (a time with its zone, or 15m for a quarter of an hour ago), with --after behind a place. Each line is a refusal as a gateway has written it down; --json
prints one JSON object a line. It ends with Ctrl-C, or after --limit lines. While the Rules API does not answer it tries again, half a minute at most.`;

export function command() {
  const faults = new Faults();
  return newCommand('tail', 'Shows refusals as they happen.')
    .addOption(merchant())
    .option('--after <cursor>', 'go on behind this place; the end of a former tail has printed it')
    .addOption(
      new Option(
        '--since <time>',
        'begin at this moment of the last day, like 2026-11-22T10:00:00Z, or so long ago, like 15m or 2h',
      ).conflicts('after'),
    )
    .addOption(wholeNumber('--limit <n>', 'end after so many lines; 0 never ends', { min: 0, max: 1_000_000_000, default: 0 }, faults))
    .addOption(oneOf('--outcome <name>', 'what became of the requests', ['refused', 'passed', 'all'], 'refused', faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate tail --merchant acme',
          'npx tollgate tail --since 15m --outcome all',
          'npx tollgate tail --since 2026-11-22T10:00:00Z --limit 100 --json',
        ],
      ),
    )
    .action(async ({ merchant: merchantId, after, since, limit, outcome, json = false }) => {
      const beginMs = since === undefined ? undefined : momentOf(since, faults);
      faults.demandNone();
      const ending = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
      const api = RulesApi.of(process.env);
      const page = (cursor: string | undefined, most: number): Promise<Page> =>
        api.ask<Page>('/v1/decisions', {
          query: { after: cursor, merchant: merchantId, outcome, limit: String(most), wait: WAIT_SECONDS },
        });
      const from = after ?? (beginMs === undefined ? undefined : `${beginMs}-0`);
      const cursor = await follow(
        { page, after: from, limit: limit || Infinity, sinceMs: beginMs, pauseMs: PAUSE_MS, signal: ending.signal },
        (decision) => print(json ? JSON.stringify(decision) : lineOf(decision)),
      );
      if (cursor !== undefined) note(`Go on with --after ${cursor}`);
    });
}

/** Milliseconds since 1970. */
function momentOf(text: string, faults: Faults): number {
  const found = sinceMs(text, Date.now());
  if (typeof found === 'number') return found;
  faults.add(found);
  return 0;
}

export interface Following {
  readonly page: (after: string | undefined, most: number) => Promise<Page>;
  /** Undefined: behind whatever is there. */
  readonly after: string | undefined;
  /** Decisions of before are left out: their receipts were written later than they were made. */
  readonly sinceMs?: number | undefined;
  /** Infinity never ends. */
  readonly limit: number;
  /** Between two questions, unless there is more at once. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
}

/** Hands decisions on until there were `limit` or the signal aborts, and returns where to go on. @throws CommandError */
export async function follow(
  { page, after, limit, sinceMs: beginMs = -Infinity, pauseMs, signal }: Following,
  onDecision: (decision: Decision) => void,
): Promise<string | undefined> {
  let cursor = after;
  let [seen, failures, hasAnswered] = [0, 0, false];
  while (seen < limit && !signal.aborted) {
    let items: readonly Decision[] = [];
    // Where nobody says from where on, the first answer only says where now is.
    const isBeginning = cursor === undefined;
    try {
      const found = await page(cursor, isBeginning ? 1 : Math.min(PAGE_SIZE, limit - seen));
      [items, cursor, failures, hasAnswered] = [isBeginning ? [] : found.items, found.cursor ?? cursor, 0, true];
    } catch (error) {
      if (!hasAnswered || !(error instanceof CommandError) || ++failures >= MOST_FAILURES) throw error;
      if (failures === 1) note(`${error.message} It is asked again.`);
    }
    const recent = items.filter(({ at }) => !(Date.parse(String(at)) < beginMs));
    recent.forEach(onDecision);
    seen += recent.length;
    // A full page is followed by the next one at once.
    if (items.length < PAGE_SIZE && seen < limit) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  return cursor;
}

interface Limit {
  readonly ruleId?: unknown;
  readonly rule?: unknown;
  readonly limit?: unknown;
  readonly allowed?: unknown;
}

/** When, whose request it was, what it asked for, what became of it, and by which limits. */
export function lineOf({ at, merchantId, requestId, method, path, reason, limits, retryAfterMs }: Decision): string {
  const all = Array.isArray(limits) ? (limits as readonly Limit[]) : [];
  const refusing = all.filter(({ allowed }) => allowed === false);
  const by = refusing.map(({ ruleId, rule, limit }) => `rule ${shownValue(ruleId)} "${shownValue(rule)}" ${shownValue(limit)}`);
  const facts = [at, merchantId, requestId, method, path, reason].map(shownValue);
  return [...facts, ...by, ...(typeof retryAfterMs === 'number' ? [`passes in ${retryAfterMs} ms`] : [])].join('  ');
}
