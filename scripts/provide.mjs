/** What a command needs that is called in a fresh clone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { demandNode, installMissing } from './install.mjs';
import { ROOT } from './paths.mjs';

/**
 * Installs and builds what is missing for a program. What there is to say goes to stderr: stdout is the program's.
 * @param {string} program a file in dist/
 * @throws {Error} with the reason why it cannot run
 */
export async function provide(program) {
  demandNode();
  // An image has what was built, and no compiler.
  if (existsSync(program) && !existsSync(join(ROOT, 'node_modules', '@swc', 'core'))) return;
  await installMissing(console.error);
  await build();
}
