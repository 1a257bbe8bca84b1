import { CommanderError } from '@commander-js/extra-typings';
import { COMMANDS } from './commands.js';
import { newCommand } from './shared/command.js';
import { CommandError, notStarted } from './shared/command-error.js';
import { note } from './shared/output.js';

const EXIT_CODES = `
Exit codes: 0 if all went well, 1 if the command failed, 2 if it could not start (a wrong option, or a server that is not there).`;

/** Runs one command line, and sets the exit code of the process. */
export async function run(args: readonly string[]): Promise<void> {
  const name = args.find((arg) => Object.hasOwn(COMMANDS, arg));
  try {
    const program = newCommand('tollgate', 'Works with Tollgate: its rules, its servers and its algorithms.').addHelpText(
      'afterAll',
      EXIT_CODES,
    );
    for (const [each, { summary, load }] of Object.entries(COMMANDS)) {
      program.addCommand(each === name ? (await load()).command() : newCommand(each, summary));
    }
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    const ending = error instanceof CommanderError ? usageError(error) : error;
    if (ending === undefined) return;
    if (!(ending instanceof CommandError)) throw error;
    note(ending.message);
    if (ending.exitCode === 2) note(`npx tollgate ${name ? `${name} ` : ''}--help explains the command.`);
    process.exitCode = ending.exitCode;
  }
}

/** What a CommanderError says in our form; undefined for help that was asked for. */
function usageError({ code, exitCode, message }: CommanderError): CommandError | undefined {
  if (exitCode === 0) return undefined;
  if (code === 'commander.help') return notStarted('Say which command.');
  const words = message.replace(/^error: /, '');
  return notStarted(words.charAt(0).toUpperCase() + words.slice(1));
}
