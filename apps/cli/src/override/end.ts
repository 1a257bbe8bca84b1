import { ABOUT_CONNECTION, merchant, overridesPath, reason, wholeArgument } from '../api/options.js';
import { reasonHeader, RulesApi } from '../api/rules-api.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults } from '../shared/options.js';
import { print } from '../shared/output.js';

export function endCommand() {
  const faults = new Faults();
  return newCommand('end', 'Ends an override before its time.')
    .argument('<override>', 'the id of the override', wholeArgument)
    .addOption(merchant())
    .addOption(reason())
    .addHelpText('after', afterHelp([ABOUT_CONNECTION], ['npx tollgate override end 4 --merchant acme --reason "the sale is over"']))
    .action(async (id, { merchant: merchantId, reason: why }) => {
      if (merchantId === undefined) faults.add('override end needs --merchant.');
      faults.demandNone();
      const path = `${overridesPath(merchantId!)}/${id}`;
      await RulesApi.of(process.env).ask(path, { method: 'DELETE', headers: reasonHeader(why) });
      print(`Override ${id} has ended.`);
    });
}
