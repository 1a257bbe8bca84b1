import { newCommand } from '../shared/command.js';
import { endCommand } from './end.js';
import { listCommand } from './list.js';
import { setCommand } from './set.js';

export function command() {
  return newCommand('override', 'Changes the numbers of a rule for one merchant and for a time.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx tollgate override set --merchant acme --rule 17 --multiply 5 --until 2026-12-07T08:00:00+01:00 --reason "sale"\n  $ npx tollgate override list --merchant acme',
    )
    .addCommand(setCommand())
    .addCommand(listCommand())
    .addCommand(endCommand());
}
