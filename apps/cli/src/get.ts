import { asJson, ABOUT_CONNECTION, merchant, plan, rulesPath } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { notStarted } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { shownValue } from './shared/any-table.js';
import { Faults, wholeNumber } from './shared/options.js';
import { note, print, table } from './shared/output.js';

type Item = Readonly<Record<string, unknown>>;

interface Kind {
  readonly path: (merchantId: string | undefined, plan: string | undefined) => string;
  readonly columns: readonly string[];
}

const RULE_COLUMNS = ['id', 'name', 'layer', 'priority', 'enabled', 'mode', 'limits', 'version'];

/** What can be listed. */
const KINDS: Readonly<Record<string, Kind>> = {
  merchants: { path: () => '/v1/merchants', columns: ['id', 'name', 'timeZone', 'plan', 'version'] },
  plans: { path: () => '/v1/plans', columns: ['name', 'note', 'version'] },
  rules: { path: rulesPath, columns: RULE_COLUMNS },
  'default-rules': { path: () => rulesPath(undefined), columns: RULE_COLUMNS },
  tokens: { path: () => '/v1/tokens', columns: ['id', 'name', 'role', 'merchants', 'prefix', 'expiresAt', 'lastUsedAt'] },
};

export function command() {
  const faults = new Faults();
  return newCommand('get', 'Lists merchants, plans, rules, default rules or tokens.')
    .argument('<what>', `one of ${Object.keys(KINDS).join(', ')}`)
    .addOption(merchant())
    .addOption(plan())
    .addOption(wholeNumber('--limit <n>', 'the most items', { min: 1, max: 1_000_000, default: 1_000 }, faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT_CONNECTION],
        [
          'npx tollgate get merchants',
          'npx tollgate get rules --merchant acme',
          'npx tollgate get rules --plan pro',
          'npx tollgate get tokens --json',
        ],
      ),
    )
    .action(async (what, { merchant: merchantId, plan: planName, limit, json }) => {
      const kind = Object.hasOwn(KINDS, what) ? KINDS[what] : undefined;
      if (!kind) faults.add(`What is listed must be one of ${Object.keys(KINDS).join(', ')}; got ${what}.`);
      const isOfSomebody = merchantId !== undefined || planName !== undefined;
      if (what === 'rules' && !isOfSomebody) faults.add('rules needs --merchant or --plan; the rules of nobody are default-rules.');
      if (what !== 'rules' && isOfSomebody) faults.add('--merchant and --plan go with rules only.');
      faults.demandNone();
      if (!kind) throw notStarted('');
      const { items, more } = await RulesApi.of(process.env).list<Item>(kind.path(merchantId, planName), limit);
      print(
        json
          ? JSON.stringify(items, null, 2)
          : table(
              kind.columns,
              items.map((item) => rowOf(item, kind.columns)),
              'words',
            ),
      );
      if (more) note(`There are more; --limit shows them.`);
    });
}

function rowOf(item: Item, columns: readonly string[]): string[] {
  return columns.map((column) => inWords(column, item[column]));
}

function inWords(column: string, value: unknown): string {
  if (value === null || value === undefined) return column === 'merchants' ? 'all' : '-';
  if (Array.isArray(value)) return value.map((each) => (column === 'limits' ? limitInWords(each as Item) : String(each))).join(', ');
  // A mode may be an object.
  return typeof value === 'object' ? shownValue(value) : String(value as string | number | boolean);
}

function limitInWords({ name, algorithm, capacity, limit }: Item): string {
  return `${String(name)} (${String(algorithm)} ${String(capacity ?? limit)})`;
}
