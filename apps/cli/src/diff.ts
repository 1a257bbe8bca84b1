import { applyFile } from './api/apply-file.js';
import { asJson, ABOUT_CONNECTION, select, strict } from './api/options.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults } from './shared/options.js';

export function command() {
  const faults = new Faults();
  return newCommand('diff', 'Says how a file differs from what is stored; exit code 1 if it does.')
    .argument('<file>', 'the file, or -')
    .option('--delete-merchants', 'count merchants that the file lacks as differences', false)
    .option('--delete-plans', 'count plans that the file lacks as differences', false)
    .addOption(select(faults))
    .addOption(strict())
    .addOption(asJson())
    .addHelpText('after', afterHelp(['The same as apply --dry-run, for scripts.', ABOUT_CONNECTION], ['npx tollgate diff rules.yaml']))
    .action(async (file, { json = false, ...options }) => {
      faults.demandNone();
      const { changes } = await applyFile(file, { dryRun: true, maxDeletePercent: 100, ...options, json });
      if (changes.length > 0) process.exitCode = 1;
    });
}
