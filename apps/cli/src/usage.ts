import { asJson, ABOUT_CONNECTION, merchant } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { anyTable } from './shared/any-table.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, wholeNumber } from './shared/options.js';
import { note, print } from './shared/output.js';

interface Top {
  readonly since: string;
  readonly items: readonly object[];
  readonly other: object | null;
}

/** The most that a rank has. */
const MOST_RANKS = 200;

const FIRST = ['at', 'merchantId', 'ruleId', 'rule', 'passed', 'refused'];

export function command() {
  const faults = new Faults();
  return newCommand('usage', 'Shows how many requests of a merchant passed and were refused, or which merchants were refused most.')
    .addOption(merchant())
    .option('--since <time>', 'from this moment on, at most a day ago, like 2026-11-22T10:00:00Z')
    .option('--step <length>', 'the length of a step: minute or hour')
    .option('--top', 'of all merchants, the rules that refused most')
    .option('--near-limit', 'with --top: those that refused nothing yet, and had least left')
    .addOption(wholeNumber('--limit <n>', 'the most lines', { min: 1, max: 100_000, default: 100 }, faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        ['Gateways count by minute for the last day.', ABOUT_CONNECTION],
        [
          'npx tollgate usage --merchant acme',
          'npx tollgate usage --merchant acme --since 2026-11-22T10:00:00Z --step hour',
          'npx tollgate usage --top',
        ],
      ),
    )
    .action(async ({ merchant: merchantId, since, step, top = false, nearLimit = false, limit, json }) => {
      if (top === (merchantId !== undefined)) faults.add('Say of what: --merchant ID, or --top.');
      if (top && step !== undefined) faults.add('--step goes with --merchant only.');
      if (top && limit > MOST_RANKS) faults.add(`--top shows at most ${MOST_RANKS}.`);
      if (nearLimit && !top) faults.add('--near-limit goes with --top only.');
      faults.demandNone();
      const api = RulesApi.of(process.env);
      if (top) {
        const query = { since, by: nearLimit ? 'near-limit' : 'refused', limit: String(limit) };
        const ranks = await api.ask<Top>('/v1/usage/top', { query });
        print(
          json
            ? JSON.stringify(ranks, null, 2)
            : inWords(ranks.items, nearLimit ? 'No rule that refused nothing is near its limit.' : undefined),
        );
      } else {
        const path = `/v1/merchants/${encodeURIComponent(merchantId!)}/usage`;
        const { items, more } = await api.list<object>(path, limit, { since, step });
        print(json ? JSON.stringify(items, null, 2) : inWords(items));
        if (more) note('There are more; --limit shows them.');
      }
    });
}

const inWords = (items: readonly object[], none = 'No requests were counted.'): string =>
  items.length === 0 ? none : anyTable(items, FIRST);
