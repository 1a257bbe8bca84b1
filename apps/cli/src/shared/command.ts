import { Command } from '@commander-js/extra-typings';

/** A command whose wrong usage is thrown as a CommanderError, so that one place words it and chooses the exit code. */
export function newCommand(name: string, summary: string) {
  return new Command(name)
    .summary(summary)
    .description(summary)
    .helpOption('-h, --help', 'show this text')
    .configureHelp({ helpWidth: HELP_WIDTH })
    .configureOutput({ outputError: () => {} })
    .exitOverride();
}

const HELP_WIDTH = 120;

/** Help text under the options: paragraphs as they stand, one command line for each example. */
export function afterHelp(paragraphs: readonly string[], examples: readonly string[]): string {
  return ['', ...paragraphs, ['Examples:', ...examples.map((example) => `  $ ${example}`)].join('\n')].join('\n\n').slice(1);
}
