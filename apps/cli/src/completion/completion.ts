import type { CommandEntries } from '../shared/command-entry.js';
import { notStarted } from '../shared/command-error.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { print } from '../shared/output.js';
import { type Node, SCRIPTS, treeOf } from './scripts.js';

const ABOUT = `The script completes the command tollgate: its commands, their options and, elsewhere, names of files. It knows what this version of tollgate knows and
starts nothing. If you start tollgate by npx, add alias tollgate='npx tollgate'.`;

/** The command, which completes these commands. */
export function completionOf(commands: CommandEntries) {
  return { command: () => completionCommand(commands) };
}

function completionCommand(commands: CommandEntries) {
  return newCommand('completion', 'Prints a script by which a shell completes command lines.')
    .argument('<shell>', `one of ${Object.keys(SCRIPTS).join(', ')}`)
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT],
        [
          'npx tollgate completion bash > ~/.local/share/bash-completion/completions/tollgate',
          'npx tollgate completion zsh > ~/.zfunc/_tollgate',
          'npx tollgate completion fish > ~/.config/fish/completions/tollgate.fish',
        ],
      ),
    )
    .action(async (shell) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (!script) throw notStarted(`The shell must be one of ${Object.keys(SCRIPTS).join(', ')}; got ${shell}.`);
      print(script(await allNodes(commands)));
    });
}

/** Every command, and the program itself. */
export async function allNodes(entries: CommandEntries): Promise<Node[]> {
  const commands = [];
  for (const { load } of Object.values(entries)) commands.push((await load()).command());
  const program: Node = {
    path: [],
    words: [
      ...Object.entries(entries).map(([word, { summary }]) => ({ word, meaning: summary })),
      { word: '--help', meaning: 'show what there is' },
    ],
  };
  return [program, ...commands.flatMap((each) => treeOf(each, []))];
}
