/** What the commands of npm run have in common. */
import { parseArgs } from 'node:util';

/** What is or went wrong, in words for whoever typed the command. */
export class Refusal extends Error {}

/** The code with which a command ends that was called or configured wrongly, as the apps do. */
export const BAD_CONFIGURATION = 2;

/** The environment or the command line is at fault, not the machine. */
export class ConfigurationError extends Error {
  exitCode = BAD_CONFIGURATION;
}

/**
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} O
 * @param {string[]} args
 * @param {O} options
 * @throws {Refusal} for an option that is not among them
 */
export function parsedArguments(args, options) {
  try {
    return parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    throw new Refusal(/** @type {Error} */ (error).message);
  }
}

/** The kinds of options. */
export const TEXT = /** @type {const} */ ({ type: 'string' });
export const HELP_FLAG = /** @type {const} */ ({ type: 'boolean', short: 'h' });

/** A text as a regular expression that matches it. @param {string} text */
export const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
