import { type Change, changesTable } from '../api/changes.js';
import { asJson, ABOUT_CONNECTION, merchant } from '../api/options.js';
import { RulesApi } from '../api/rules-api.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults, wholeNumber } from '../shared/options.js';
import { note, print } from '../shared/output.js';

export function listCommand() {
  const faults = new Faults();
  return newCommand('list', 'Lists changes, the newest first.')
    .option('--actor <name>', 'only changes by this administrator or machine')
    .addOption(merchant())
    .option('--since <time>', 'only changes at this moment or later, like 2026-11-22T10:00:00Z')
    .option('--until <time>', 'only changes before this moment')
    .addOption(wholeNumber('--limit <n>', 'the most changes', { min: 1, max: 1_000_000, default: 50 }, faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT_CONNECTION],
        ['npx tollgate audit list --actor "deploy pipeline"', 'npx tollgate audit list --merchant acme --json'],
      ),
    )
    .action(async ({ limit, json, ...query }) => {
      faults.demandNone();
      const { items, more } = await RulesApi.of(process.env).list<Change>('/v1/audit', limit, query);
      print(json ? JSON.stringify(items, null, 2) : changesTable(items));
      if (more) note('There are more; --limit shows them.');
    });
}
