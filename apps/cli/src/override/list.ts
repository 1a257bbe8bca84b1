import { asJson, ABOUT_CONNECTION, merchant, overridesPath } from '../api/options.js';
import { RulesApi } from '../api/rules-api.js';
import { anyTable } from '../shared/any-table.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults, wholeNumber } from '../shared/options.js';
import { note, print } from '../shared/output.js';

const FIRST = ['id', 'ruleId', 'multiply', 'limits', 'from', 'until', 'state', 'reason'];

export function listCommand() {
  const faults = new Faults();
  return newCommand('list', 'Lists the overrides of a merchant, those that have ended included.')
    .addOption(merchant())
    .addOption(wholeNumber('--limit <n>', 'the most overrides', { min: 1, max: 100_000, default: 1_000 }, faults))
    .addOption(asJson())
    .addHelpText('after', afterHelp([ABOUT_CONNECTION], ['npx tollgate override list --merchant acme']))
    .action(async ({ merchant: merchantId, limit, json }) => {
      if (merchantId === undefined) faults.add('override list needs --merchant.');
      faults.demandNone();
      const { items, more } = await RulesApi.of(process.env).list<object>(overridesPath(merchantId!), limit);
      print(json ? JSON.stringify(items, null, 2) : items.length === 0 ? 'No overrides.' : anyTable(items, FIRST));
      if (more) note('There are more; --limit shows them.');
    });
}
