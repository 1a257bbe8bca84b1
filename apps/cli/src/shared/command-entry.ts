import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** A line of the list of commands. */
export interface CommandEntry {
  readonly summary: string;
  /** Loaded when it is called, so that a command does not pay for the packages of the others. */
  readonly load: () => Promise<{ readonly command: () => CommandUnknownOpts }>;
}

export type CommandEntries = Readonly<Record<string, CommandEntry>>;
