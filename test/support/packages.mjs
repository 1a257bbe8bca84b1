/**
 * Packages as the tests load them: each in one file. Jest finds, reads and compiles every module anew for every test file, and typeorm alone has four
 * hundred; that was a third of the processor time of all tests.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../../scripts/lock.mjs';
import { ROOT } from '../../scripts/paths.mjs';

/**
 * All that share a package stand here together, so that there is one of it: of Nest for instance. A package that another one requires as CommonJS cannot stand here:
 * express, which tests compare paths with, requires ipaddr.js.
 */
const PACKAGES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-fastify',
  '@nestjs/swagger',
  'bullmq',
  'fast-check',
  'fastify',
  'ioredis',
  'jose',
  'pg',
  'pino',
  'prom-client',
  'rxjs',
  'temporal-polyfill',
  'typeorm',
  'undici',
  'yaml',
];

const FOLDER = join(ROOT, 'node_modules', '.cache', 'tollgate', 'test-packages');
/** Says from what the files were made. */
const STAMP = join(FOLDER, 'made-from');
const MADE_FROM = ['package-lock.json', 'scripts/bundle.mjs', 'test/support/packages.mjs'];

/** @param {string} name of a package */
const fileOf = (name) => join(FOLDER, `${nameOf(name)}.mjs`);

/**
 * What Jest takes for these packages, by a pattern of what is imported; nothing before the files were made.
 * @returns {Record<string, string>}
 */
export function testPackages() {
  if (!isCurrent()) return {};
  const literally = (/** @type {string} */ text) => text.replaceAll('.', '\\.');
  // The properties' own seed stands before it.
  const fastCheck = literally('../../node_modules/fast-check/lib/fast-check.js');
  return Object.fromEntries(PACKAGES.map((name) => [`^${name === 'fast-check' ? fastCheck : literally(name)}$`, fileOf(name)]));
}

/** Makes the files if they are missing or of other packages. Takes some seconds then, and a millisecond otherwise. */
export async function makeTestPackages() {
  if (isCurrent()) return;
  await withLock(`${FOLDER}.lock`, 60_000, async () => {
    if (isCurrent()) return;
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    const sources = await Promise.all(PACKAGES.map(async (name) => [nameOf(name), await exportsOf(name)]));
    const { bundlePackages } = await import('../../scripts/bundle.mjs');
    await bundlePackages(Object.fromEntries(sources), FOLDER);
    writeFileSync(STAMP, stamp());
  });
}

const isCurrent = () => existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp();

function stamp() {
  const hash = createHash('sha256').update(process.version);
  for (const file of MADE_FROM) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

/** @param {string} name */
const nameOf = (name) => name.replace('@', '').replace('/', '-');

/** A module that exports what the package does. Of CommonJS only Node knows the names, once it has run. @param {string} name */
async function exportsOf(name) {
  const names = Object.keys(/** @type {object} */ (await import(name)));
  const named = names.filter((each) => each !== 'default' && /^[A-Za-z_$][\w$]*$/.test(each));
  const all = names.includes('default') ? ['default', ...named] : named;
  return all.length === 0 ? `import '${name}';` : `export { ${all.join(', ')} } from '${name}';`;
}
