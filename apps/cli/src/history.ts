import { type Change, changesTable } from './api/changes.js';
import { asJson, ABOUT_CONNECTION, merchant, plan, rulesPath, wholeArgument } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, wholeNumber } from './shared/options.js';
import { note, print } from './shared/output.js';

export function command() {
  const faults = new Faults();
  return newCommand('history', 'Lists the changes of a merchant, of a plan, of a rule or of a default rule, the newest first.')
    .addOption(merchant())
    .addOption(plan())
    .option('--rule <id>', 'the rule of the merchant or the plan; without --merchant and --plan the default rule', wholeArgument)
    .addOption(wholeNumber('--limit <n>', 'the most changes', { min: 1, max: 100_000, default: 50 }, faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT_CONNECTION],
        ['npx tollgate history --merchant acme', 'npx tollgate history --merchant acme --rule 17', 'npx tollgate history --rule 3 --json'],
      ),
    )
    .action(async ({ merchant: merchantId, plan: planName, rule, limit, json }) => {
      const ofPlan = planName === undefined ? undefined : `/v1/plans/${encodeURIComponent(planName)}`;
      if (merchantId === undefined && ofPlan === undefined && rule === undefined)
        faults.add('Say of what: --merchant or --plan, --rule or both.');
      faults.demandNone();
      const ofWhom = ofPlan ?? `/v1/merchants/${encodeURIComponent(merchantId ?? '')}`;
      const path = rule === undefined ? ofWhom : `${rulesPath(merchantId, planName)}/${rule}`;
      const { items, more } = await RulesApi.of(process.env).list<Change>(`${path}/history`, limit);
      print(json ? JSON.stringify(items, null, 2) : changesTable(items));
      if (more) note('There are more; --limit shows them.');
    });
}
