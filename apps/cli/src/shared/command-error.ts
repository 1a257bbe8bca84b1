/** 1: the command did its work, and it failed. 2: there was nothing to do it with: a wrong option, or a server that is not there. */
export type ExitCode = 1 | 2;

/** Ends a command with a message for whoever typed it, instead of a stack trace. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode,
  ) {
    super(message);
  }
}

export const failed = (message: string): CommandError => new CommandError(message, 1);

export const notStarted = (message: string): CommandError => new CommandError(message, 2);
