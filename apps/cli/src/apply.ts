import { applyFile } from './api/apply-file.js';
import { asJson, ABOUT_CONNECTION, mostDeleted, reason, select, strict } from './api/options.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults } from './shared/options.js';

const ABOUT = `The file is YAML or JSON, in the form in which export writes it; - stands for the standard input. What is stored becomes what the file says, in
one transaction; a second time nothing changes. Rules are told apart by their names. A rule of a merchant of the file, or a default rule if the
file has any, is deleted if the file lacks it. A merchant or a plan that the file lacks is left alone, unless told. With --select the file manages only what has the label: each
of its rules must have it, and nothing else is changed or deleted. Lines with ! are warnings about rules that the file creates or changes.`;

export function command() {
  const faults = new Faults();
  return newCommand('apply', 'Makes merchants and rules what a file says.')
    .argument('<file>', 'the file, or -')
    .option('--dry-run', 'say what would change, and change nothing', false)
    .addOption(mostDeleted('the rules that the file manages', faults))
    .option('--delete-merchants', 'delete merchants that the file lacks', false)
    .option('--delete-plans', 'delete plans that the file lacks and no merchant has', false)
    .addOption(select(faults))
    .addOption(strict())
    .addOption(reason())
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate apply rules.yaml --dry-run',
          'npx tollgate apply rules.yaml --reason "ticket OPS-17"',
          'npx tollgate apply risk.yaml --select team=risk',
        ],
      ),
    )
    .action(async (file, { json = false, ...options }) => {
      faults.demandNone();
      await applyFile(file, { ...options, json });
    });
}
