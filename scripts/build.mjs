/** Compiles the TypeScript of apps, libs and migrations to dist/ with swc, and copies what lies beside it (Lua scripts). */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { withLock } from './lock.mjs';
import { DIST, isMain, ROOT } from './paths.mjs';

const SOURCES = ['apps', 'libs', 'migrations'];
const MANIFEST = join(DIST, '.build.json');

const HELP = `npm run build [-- --force]

Compiles apps, libs and migrations to dist/. Only what changed since the last build is compiled.
Types are not checked here: npm run typecheck does that.

  --force  compile everything
  --help   this text`;

/** @typedef {Record<string, string>} Marks a source file's path to what tells its versions apart */

/**
 * Brings dist/ up to date with the sources.
 * @param {{ force?: boolean }} [options]
 * @returns {Promise<{ compiled: number, removed: number }>}
 * @throws {Error} naming every file that does not parse
 */
export async function build({ force = false } = {}) {
  return withLock(`${DIST}.lock`, 60_000, async () => {
    const settings = settingsMark();
    const before = force ? undefined : readManifest(settings);
    const now = sourceMarks();
    const changed = Object.keys(now).filter((file) => before?.[file] !== now[file] || !existsSync(outputOf(file)));
    const removed = before ? Object.keys(before).filter((file) => !(file in now)) : [];
    if (changed.length + removed.length === 0) return { compiled: 0, removed: 0 };

    if (!before) for (const folder of SOURCES) rmSync(join(DIST, folder), { recursive: true, force: true });
    for (const file of removed) for (const end of ['', '.map']) rmSync(outputOf(file) + end, { force: true });
    const failures = await compileAll(changed);
    for (const { file } of failures) delete now[file];
    writeWhole(MANIFEST, JSON.stringify({ settings, files: now }));
    if (failures.length > 0) throw new Error(`The build failed:\n\n${failures.map(({ message }) => message).join('\n')}`);
    return { compiled: changed.length, removed: removed.length };
  });
}

/** @param {string[]} files */
async function compileAll(files) {
  const swc = (await import('@swc/core')).default;
  /** @type {{ file: string, message: string }[]} */
  const failures = [];
  for (const file of files) {
    try {
      await (file.endsWith('.ts') ? compile(swc, file) : copy(file));
    } catch (error) {
      failures.push({ file, message: `${file}: ${/** @type {Error} */ (error).message}` });
    }
  }
  return failures;
}

/**
 * @param {typeof import('@swc/core')} swc
 * @param {string} file
 */
async function compile(swc, file) {
  const output = outputOf(file);
  const { code, map } = await swc.transformFile(join(ROOT, file), {
    root: ROOT,
    cwd: ROOT,
    sourceMaps: true,
    sourceFileName: relative(dirname(output), join(ROOT, file)),
  });
  if (map) writeWhole(`${output}.map`, map);
  writeWhole(output, map ? `${code}\n//# sourceMappingURL=${output.slice(output.lastIndexOf('/') + 1)}.map\n` : code);
}

/** @param {string} file */
async function copy(file) {
  const output = outputOf(file);
  mkdirSync(dirname(output), { recursive: true });
  cpSync(join(ROOT, file), output);
}

/**
 * Writes a file so that a reader sees the old or the new one, never half of it.
 * @param {string} file
 * @param {string} content
 */
function writeWhole(file, content) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

/** @param {string} file */
const outputOf = (file) => join(DIST, file.replace(/\.ts$/, '.js'));

/** @returns {Marks} */
function sourceMarks() {
  /** @type {Marks} */
  const marks = {};
  for (const folder of SOURCES) {
    if (!existsSync(join(ROOT, folder))) continue;
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || /\.(spec|d)\.ts$|\.md$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const { mtimeMs, size } = statSync(path);
      marks[relative(ROOT, path)] = `${mtimeMs}:${size}`;
    }
  }
  return marks;
}

/** What, besides the sources, decides what is compiled: another compiler or other settings make everything stale. */
function settingsMark() {
  const hash = createHash('sha256');
  for (const file of ['.swcrc', 'node_modules/@swc/core/package.json', 'scripts/build.mjs']) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

/**
 * @param {string} settings
 * @returns {Marks | undefined} undefined when nothing in dist/ can be relied on
 */
function readManifest(settings) {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
    return manifest.settings === settings ? manifest.files : undefined;
  } catch {
    return undefined;
  }
}

if (isMain(import.meta.url)) {
  const [option, ...more] = process.argv.slice(2);
  if (option === '--help') {
    console.log(HELP);
  } else if (more.length > 0 || (option !== undefined && option !== '--force')) {
    console.error(`npm run build does not know ${[option, ...more].join(' ')}.\n\n${HELP}`);
    process.exitCode = 2;
  } else {
    const startedMs = performance.now();
    try {
      const { compiled, removed } = await build({ force: option === '--force' });
      console.log(`dist/: ${compiled} compiled, ${removed} removed, ${Math.round(performance.now() - startedMs)} ms`);
    } catch (error) {
      console.error(/** @type {Error} */ (error).message);
      process.exitCode = 1;
    }
  }
}
