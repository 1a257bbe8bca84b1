/** npm run load, simulate, preload, faults: the command line of apps/cli, from a fresh clone too. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { demandNode, installMissing } from './install.mjs';
import { mainOf, ROOT } from './paths.mjs';

try {
  demandNode();
  // An image has what was built, and no compiler.
  if (!existsSync(mainOf('cli')) || existsSync(join(ROOT, 'node_modules', '@swc', 'core'))) {
    await installMissing(console.error);
    await build();
  }
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exit(1);
}
await import(mainOf('cli'));
