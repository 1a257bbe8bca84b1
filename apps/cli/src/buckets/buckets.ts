import { newCommand } from '../shared/command.js';
import { listCommand } from './list.js';
import { adjustCommand, blockCommand, resetCommand, unblockCommand } from './operations.js';

export function command() {
  return newCommand('buckets', 'Shows the live buckets of a merchant, fills, corrects, blocks or unblocks them.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx tollgate buckets list --merchant acme\n  $ npx tollgate buckets reset --merchant acme --rule 17 --reason "ticket OPS-17"',
    )
    .addCommand(listCommand())
    .addCommand(resetCommand())
    .addCommand(adjustCommand())
    .addCommand(blockCommand())
    .addCommand(unblockCommand());
}
