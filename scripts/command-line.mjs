/** What the commands of npm run have in common. */

/** The code with which a command ends that was called or configured wrongly, as the apps do. */
export const BAD_CONFIGURATION = 2;

/** The environment or the command line is at fault, not the machine. */
export class ConfigurationError extends Error {
  exitCode = BAD_CONFIGURATION;
}

/** A text as a regular expression that matches it. @param {string} text */
export const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
