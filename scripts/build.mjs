/** Brings dist/ up to date with the sources, through Nest's command line as nest-cli.json configures it. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { withLock } from './lock.mjs';
import { DIST, isMain, NEST, ROOT } from './paths.mjs';
import { Tether } from './tether.mjs';

const SOURCES = ['apps', 'libs', 'migrations'];
/** What, besides the sources, decides what is compiled. */
const SETTINGS = [
  '.swcrc',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'node_modules/@swc/core/package.json',
  'scripts/bundle.mjs',
  'package-lock.json',
];
/** Says from which sources dist/ was built. */
const STAMP = join(DIST, '.built-from');

/**
 * Compiles the sources if they have changed since the last build; takes a few milliseconds if not.
 * @returns {Promise<boolean>} whether something was compiled
 * @throws {Error} with the compiler's messages
 */
export async function build() {
  return withLock(`${DIST}.lock`, 60_000, async () => {
    const stamp = currentStamp();
    if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return false;
    rmSync(STAMP, { force: true });
    const compiling = promisify(execFile)(process.execPath, [NEST, 'build', '--silent'], { cwd: ROOT });
    new Tether().tie(compiling.child, 'TERM');
    await compiling.catch(({ stdout, stderr }) => {
      throw new Error(`The build failed:\n\n${stdout}${stderr}`);
    });
    removeOrphans();
    makeExecutable();
    // Loaded only here: an image that runs what was built has no compiler.
    const { bundle } = await import('./bundle.mjs');
    await bundle();
    writeFileSync(STAMP, stamp);
    return true;
  });
}

/**
 * A module of what was built.
 * @param {string} file relative to dist/
 * @returns {Promise<any>}
 */
export const importBuilt = (file) => import(pathToFileURL(join(DIST, file)).href);

/** A hash that changes with every source file and setting. */
function currentStamp() {
  const hash = createHash('sha256');
  for (const file of SETTINGS) hash.update(readFileSync(join(ROOT, file)));
  for (const file of SOURCES.flatMap((folder) => filesIn(ROOT, folder))) {
    const { mtimeMs, size } = statSync(join(ROOT, file));
    hash.update(`${file}:${mtimeMs}:${size}\n`);
  }
  return hash.digest('hex');
}

/** What package.json names as commands. npx does this itself, but only the first time; the compiler writes the file anew each time. */
function makeExecutable() {
  /** @type {{ bin: Record<string, string> }} */
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const file of Object.values(bin)) chmodSync(join(ROOT, file), 0o755);
}

/** Removes what was compiled from sources that are gone. */
function removeOrphans() {
  for (const file of SOURCES.flatMap((folder) => filesIn(DIST, folder))) {
    const source = join(ROOT, file.replace(/\.js(\.map)?$/, '.ts'));
    if (!existsSync(source)) rmSync(join(DIST, file));
  }
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]} paths relative to the root
 */
function filesIn(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}

if (isMain(import.meta.url)) {
  const startedMs = performance.now();
  try {
    const compiled = await build();
    console.log(compiled ? `dist/ built in ${Math.round(performance.now() - startedMs)} ms` : 'dist/ is up to date');
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
