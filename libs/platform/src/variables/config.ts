import { type App, ExpectationError, type Variable } from './variable.js';
import { VARIABLES } from './variables.js';

type Variables = typeof VARIABLES;
type Key = keyof Variables;

/**
 * The values that app `A` reads from the environment, parsed and frozen. Without an argument: the values that every app has.
 * Reading a variable of another app is a type error.
 */
export type Config<A extends App = App> = {
  readonly [K in Key as [A] extends [Variables[K]['apps'][number]] ? K : never]: ReturnType<Variables[K]['parse']>;
};

/** The environment is not a usable configuration; the message has one line for every bad variable. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`The configuration is not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Parses the configuration of one app.
 *
 * @throws ConfigError naming every bad variable, what was expected and what was found; secrets are not shown
 */
export function loadConfig<A extends App>(app: A, env: NodeJS.ProcessEnv = process.env): Config<A> {
  const config: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    if (!variable.apps.includes(app)) continue;
    // A deployment file that passes `NAME=` on means that the variable is not set.
    const text = env[variable.name] || variable.default;
    if (text === '' && variable.requiredUnless !== undefined && !env[nameOf(variable.requiredUnless)]) {
      faults.push(notSet(variable));
      continue;
    }
    if (text === undefined) {
      if (variable.defaultFrom !== undefined) config[key] = config[variable.defaultFrom];
      else faults.push(notSet(variable));
      continue;
    }
    try {
      config[key] = variable.parse(text);
    } catch (error) {
      if (!(error instanceof ExpectationError)) throw error;
      faults.push(`${variable.name}: expected ${error.message}, got ${shown(variable, text)}`);
    }
  }
  if (faults.length === 0) faults.push(...missingFor(app, config));
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config) as Config<A>;
}

function nameOf(key: string): string {
  return (VARIABLES as Readonly<Record<string, Variable<unknown>>>)[key]!.name;
}

function notSet({ name, requiredUnless, meaning }: Variable<unknown>): string {
  const nor = requiredUnless === undefined ? '' : `, nor is ${nameOf(requiredUnless)}`;
  return `${name}: is not set${nor}; it means: ${meaning}`;
}

/** What is required only because of what another variable says. */
function missingFor(app: App, config: Readonly<Record<string, unknown>>): string[] {
  return Object.entries<Variable<unknown>>(VARIABLES).flatMap(([key, { apps, name, requiredIf, meaning }]) => {
    if (requiredIf === undefined || !apps.includes(app) || config[key] !== undefined) return [];
    const other = nameOf(requiredIf.key);
    const needs = (config[requiredIf.key] as readonly string[]).includes(requiredIf.has);
    return needs ? [`${name}: is not set, and ${other} has ${requiredIf.has}; it means: ${meaning}`] : [];
  });
}

/** scripts/command-line.mjs has the same. The exit code of an app that could not start because of its configuration. A restart does not help; every other failure is 1. */
export const EXIT_BAD_CONFIGURATION = 2;

/**
 * The configuration of the app of this process. If it is not usable, prints every fault to stderr and exits with EXIT_BAD_CONFIGURATION.
 *
 * @param demand throws a ConfigError for what the variables cannot say one by one
 */
export function loadConfigOrExit<A extends App>(app: A, demand?: (config: Config<A>) => void): Config<A> {
  try {
    const config = loadConfig(app);
    demand?.(config);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_BAD_CONFIGURATION);
  }
}

function shown(variable: Variable<unknown>, text: string): string {
  if (variable.secret) return `${text.length} characters that are not shown`;
  // UPSTREAM_URL must not carry credentials, so a wrong one may be just that.
  const safe = text.replace(/\/\/[^/\s]*@/, '//[redacted]@');
  return JSON.stringify(safe.length > 100 ? `${safe.slice(0, 100)}…` : safe);
}
