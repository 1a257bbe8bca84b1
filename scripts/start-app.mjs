/** npm run start:gateway, start:rules-api, start:preloader: one app alone, from a fresh clone too. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { ConfigurationError } from './command-line.mjs';
import { demandNode, installMissing } from './install.mjs';
import { BUNDLED, bundleOf, ROOT } from './paths.mjs';

const app = process.argv[2] ?? '';
// What is said here goes to stderr: stdout is the log of the app.
const say = (/** @type {string} */ line) => console.error(line);
try {
  if (!BUNDLED.includes(app)) throw new ConfigurationError(`There is no app "${app}". There are ${BUNDLED.join(', ')}.`);
  demandNode();
  // An image has what was built, and no compiler.
  if (!existsSync(bundleOf(app)) || existsSync(join(ROOT, 'node_modules', '@swc', 'core'))) {
    await installMissing(say);
    await build();
  }
} catch (error) {
  say(/** @type {Error} */ (error).message);
  process.exit(error instanceof ConfigurationError ? error.exitCode : 1);
}
process.setSourceMapsEnabled(true);
await import(bundleOf(app));
