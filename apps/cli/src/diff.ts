import { applyFile } from './api/apply-file.js';
import { asJson, ABOUT_CONNECTION } from './api/options.js';
import { afterHelp, newCommand } from './shared/command.js';

export function command() {
  return newCommand('diff', 'Says how a file differs from what is stored; exit code 1 if it does.')
    .argument('<file>', 'the file, or -')
    .option('--delete-merchants', 'count merchants that the file lacks as differences', false)
    .addOption(asJson())
    .addHelpText('after', afterHelp(['The same as apply --dry-run, for scripts.', ABOUT_CONNECTION], ['npx tollgate diff rules.yaml']))
    .action(async (file, { deleteMerchants, json = false }) => {
      const { changes } = await applyFile(file, { dryRun: true, maxDeletePercent: 100, deleteMerchants, json });
      if (changes.length > 0) process.exitCode = 1;
    });
}
