import { SWITCH_NAMES } from '#limiter';
import { Option } from '@commander-js/extra-typings';
import { type Change, changesTable } from './api/changes.js';
import { asJson, ABOUT_CONNECTION, merchant, plan, rulesPath, wholeArgument } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, wholeNumber } from './shared/options.js';
import { note, print } from './shared/output.js';

export function command() {
  const faults = new Faults();
  return newCommand('history', 'Lists the changes of a merchant, a plan, a rule, a default rule, a token or a switch, the newest first.')
    .addOption(merchant())
    .addOption(plan())
    .option('--rule <id>', 'the rule of the merchant or the plan; without --merchant and --plan the default rule', wholeArgument)
    .option('--token <id>', 'the token, instead of any of these', wholeArgument)
    .addOption(new Option('--switch <name>', 'the switch, instead of any of these').choices(SWITCH_NAMES))
    .addOption(wholeNumber('--limit <n>', 'the most changes', { min: 1, max: 100_000, default: 50 }, faults))
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT_CONNECTION],
        [
          'npx tollgate history --merchant acme',
          'npx tollgate history --merchant acme --rule 17',
          'npx tollgate history --rule 3 --json',
          'npx tollgate history --token 5',
          'npx tollgate history --switch kill',
        ],
      ),
    )
    .action(async ({ merchant: merchantId, plan: planName, rule, token, switch: switchName, limit, json }) => {
      const ofPlan = planName === undefined ? undefined : `/v1/plans/${encodeURIComponent(planName)}`;
      const isOfRules = merchantId !== undefined || ofPlan !== undefined || rule !== undefined;
      const said = [isOfRules, token !== undefined, switchName !== undefined].filter(Boolean).length;
      if (said !== 1) faults.add('Say of what: --merchant or --plan, --rule or both; or --token; or --switch.');
      faults.demandNone();
      const ofWhom = ofPlan ?? `/v1/merchants/${encodeURIComponent(merchantId ?? '')}`;
      const ofRules = rule === undefined ? ofWhom : `${rulesPath(merchantId, planName)}/${rule}`;
      const ofOthers = switchName === undefined ? ofRules : `/v1/switches/${switchName}`;
      const path = token === undefined ? ofOthers : `/v1/tokens/${token}`;
      const { items, more } = await RulesApi.of(process.env).list<Change>(`${path}/history`, limit);
      print(json ? JSON.stringify(items, null, 2) : changesTable(items));
      if (more) note('There are more; --limit shows them.');
    });
}
