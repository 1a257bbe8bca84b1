import { asJson, ABOUT_CONNECTION, bucketsPath, merchant, wholeArgument } from '../api/options.js';
import { RulesApi } from '../api/rules-api.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults, wholeNumber } from '../shared/options.js';
import { note, print } from '../shared/output.js';
import { absentPart, keyOf, keyPart } from './key-parts.js';
import { type Bucket, bucketsTable } from './table.js';

export function listCommand() {
  const faults = new Faults();
  return newCommand('list', 'Lists the buckets of a merchant with their levels.')
    .addOption(merchant())
    .option('--rule <id>', 'only those of this rule', wholeArgument)
    .option('--ip <address>', 'the address of the client, for rules whose key has ip')
    .option('--method <name>', 'the method, for rules whose key has method')
    .addOption(keyPart(faults))
    .addOption(absentPart())
    .addOption(wholeNumber('--limit <n>', 'the most buckets', { min: 1, max: 100_000, default: 1_000 }, faults))
    .addOption(asJson())
    .addHelpText('after', afterHelp([ABOUT_CONNECTION], ['npx tollgate buckets list --merchant acme --rule 17 --ip 192.0.2.7']))
    .action(async ({ merchant: merchantId, rule: ruleId, ip, method, key, absent, limit, json }) => {
      if (merchantId === undefined) faults.add('buckets list needs --merchant.');
      faults.demandNone();
      const parts = keyOf(key, absent);
      const { items, more } = await RulesApi.of(process.env).list<Bucket>(bucketsPath(merchantId!), limit, {
        ruleId,
        ip,
        method,
        key: parts && JSON.stringify(parts),
      });
      print(json ? JSON.stringify(items, null, 2) : bucketsTable(items));
      if (more) note('There are more; --limit shows them.');
    });
}
