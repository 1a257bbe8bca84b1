import { newCommand } from '../shared/command.js';
import { listCommand } from './list.js';
import { verifyCommand } from './verify.js';

export function command() {
  return newCommand('audit', 'Lists the audit, or checks that nobody has altered it.')
    .addHelpText('after', '\nExamples:\n  $ npx tollgate audit list --merchant acme\n  $ npx tollgate audit verify')
    .addCommand(listCommand())
    .addCommand(verifyCommand());
}
