import { readRulesFile } from '../api/file.js';
import { asJson, ABOUT_CONNECTION, merchant, overridesPath, reason, wholeArgument } from '../api/options.js';
import { reasonHeader, RulesApi } from '../api/rules-api.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults, optionalWholeNumber } from '../shared/options.js';
import { print } from '../shared/output.js';

const ABOUT = `An override multiplies the numbers of a rule, or replaces some by those of a file: a list of limits with their names and new numbers, as YAML or JSON. It
ends by itself at its time, everywhere. The rule is one of the merchant, or a default one.`;

export function setCommand() {
  const faults = new Faults();
  return newCommand('set', 'Sets an override.')
    .addOption(merchant())
    .option('--rule <id>', 'the rule', wholeArgument)
    .addOption(optionalWholeNumber('--multiply <factor>', 'how many times as much', { min: 2, max: 1_000 }, faults))
    .option('--limits <file>', 'a file with other numbers instead')
    .option('--until <time>', 'when it ends, like 2026-12-07T08:00:00+01:00')
    .addOption(reason())
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate override set --merchant acme --rule 17 --multiply 5 --until 2026-12-07T08:00:00+01:00 --reason "sale"',
          'npx tollgate override set --merchant acme --rule 17 --limits limits.yaml --until 2026-12-07T08:00:00Z',
        ],
      ),
    )
    .action(async ({ merchant: merchantId, rule: ruleId, multiply, limits: file, until, reason: why, json }) => {
      if (merchantId === undefined) faults.add('override set needs --merchant.');
      if (ruleId === undefined) faults.add('override set needs --rule.');
      if (until === undefined) faults.add('override set needs --until: an override always ends.');
      else if (Number.isNaN(Date.parse(until)))
        faults.add(`--until must be a time like 2026-12-07T08:00:00+01:00; got ${until || 'nothing'}.`);
      if ((multiply === undefined) === (file === undefined)) faults.add('Say either --multiply or --limits.');
      faults.demandNone();
      const limits = file === undefined ? undefined : readRulesFile(file);
      const body = { ruleId, multiply, limits: limits?.content, until, reason: why };
      const inFile = (pointer: string): string =>
        limits && pointer.startsWith('/limits') ? limits.placeOf(pointer.slice('/limits'.length)) : pointer;
      const request = { method: 'POST', body, headers: reasonHeader(why) } as const;
      const made = await RulesApi.of(process.env).ask<Made>(overridesPath(merchantId!), request, inFile);
      const inWords =
        made.state === 'wanted'
          ? `Nothing is changed yet: approval ${made.id} waits for a second administrator.`
          : `Override ${made.id} holds for rule ${ruleId} of ${merchantId} until ${until}.`;
      print(json ? JSON.stringify(made, null, 2) : inWords);
    });
}

/** An override; or an approval, if the rule is protected or the override is larger than one administrator may make it. */
interface Made {
  readonly id: string;
  readonly state: string;
}
