/**
 * Puts each app with all that it imports into one file, dist/NAME.js: Node reads and links one module instead of two thousand, and an app starts
 * in less than half of the time. Behaviour stays that of the compiled modules: their classes have their names, and each still knows where it lies.
 */
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { build as esbuild } from 'esbuild';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { BUNDLED, DIST, mainOf, ROOT } from './paths.mjs';

/** @typedef {import('esbuild').Plugin} Plugin */

const NODE_MODULES = `${sep}node_modules${sep}`;

/** What packages that are CommonJS ask for, and an ES module does not have. */
const BANNER = `import { createRequire as requireFromBundle } from 'node:module';
import { fileURLToPath as pathOfUrl } from 'node:url';
const require = requireFromBundle(import.meta.url);
const pathFromBundle = (place) => pathOfUrl(new URL(place, import.meta.url));`;

/** How esbuild keeps names when it renames what is called the same in two files. */
const NAMING = 'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';

/** @throws {Error} with the messages of esbuild */
export async function bundle() {
  const { outputFiles } = await esbuild({
    ...asNodeLoads(DIST),
    entryPoints: Object.fromEntries(BUNDLED.map((app) => [app, mainOf(app)])),
    write: false,
    sourcemap: true,
    sourcesContent: false,
  });
  await Promise.all(
    outputFiles.map(({ path, text }) => writeFile(path, path.endsWith('.js') ? inOneByteEach(withNamesOfClasses(text)) : mapOfOurs(text))),
  );
}

/**
 * Puts packages into a folder, one file for each and one for what some of them share.
 * @param {Readonly<Record<string, string>>} sources an ES module for each file, which exports what the file is to export
 * @param {string} folder
 * @throws {Error} with the messages of esbuild
 */
export async function bundlePackages(sources, folder) {
  await esbuild({
    ...asNodeLoads(folder),
    entryPoints: Object.keys(sources).map((name) => ({ in: `source:${name}`, out: name })),
    outExtension: { '.js': '.mjs' },
    splitting: true,
    // It changes an object of the language, before anybody else may begin: the order of modules that are shared by several files is not kept.
    external: ['reflect-metadata'],
    plugins: [given(sources), ...asNodeLoads(folder).plugins],
  });
}

/**
 * Everything is found, and finds itself, as if Node loaded it.
 * @param {string} outdir
 */
const asNodeLoads = (outdir) => ({
  absWorkingDir: ROOT,
  outdir,
  bundle: true,
  format: /** @type {const} */ ('esm'),
  platform: /** @type {const} */ ('node'),
  target: 'node20',
  // Neither the paths of TypeScript nor the hints that some packages have for bundlers.
  tsconfigRaw: {},
  mainFields: ['main'],
  conditions: [],
  keepNames: true,
  banner: { js: BANNER },
  logLevel: /** @type {const} */ ('silent'),
  plugins: [optionalPackages, places(outdir)],
});

/**
 * Classes keep their names, by which OpenAPI calls its schemas. Functions go without: those that are made for each request would pay for theirs.
 * @param {string} text
 */
function withNamesOfClasses(text) {
  if (!text.includes(NAMING)) throw new Error('esbuild keeps names in another way than scripts/bundle.mjs knows');
  return text
    .replaceAll('__name(this, ', '__nameOfClass(this, ')
    .replace(NAMING, `${NAMING.replace('__name', '__nameOfClass')} var __name = (target) => target;`);
}

/**
 * V8 holds a source as long as the process lives, with two bytes for each character if a single one of them needs two: twelve megabytes more for a few
 * curly quotes. esbuild writes ASCII; what it leaves stands in comments, and in regular expressions, which know the same escape.
 * @param {string} text
 */
function inOneByteEach(text) {
  return text.replace(/[^\x00-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A stack trace names the line of a source of ours, and that of the bundle for a package: Node keeps the map in memory, and packages are nine tenths of it.
 * @param {string} json
 */
function mapOfOurs(json) {
  /** @type {{ version: number, sources: string[], mappings: string }} */
  const { version, sources, mappings } = JSON.parse(json);
  const ours = sources.filter((source) => /^\.\.\/(apps|libs|migrations)\//.test(source));
  const indexes = sources.map((source) => ours.indexOf(source));
  let unmapped = true;
  const lines = decode(mappings).map((line) =>
    line.flatMap(([column, source = -1, originalLine = 0, originalColumn = 0]) => {
      const index = indexes[source] ?? -1;
      // One mark where what is not mapped begins; otherwise it would belong to what stands before.
      const marked = index < 0 && unmapped;
      unmapped = index < 0;
      /** @type {import('@jridgewell/sourcemap-codec').SourceMapSegment} */
      const segment = unmapped ? [column] : [column, index, originalLine, originalColumn];
      return marked ? [] : [segment];
    }),
  );
  return JSON.stringify({ version, sources: ours, names: [], mappings: encode(lines) });
}

/** A package that is not installed is left to be asked for at run time, where its user is prepared for its absence. */
/** @type {Plugin} */
const optionalPackages = {
  name: 'optional packages',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./#]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === optionalPackages) return undefined;
      const { errors } = await resolve(path, { ...from, pluginData: optionalPackages });
      return errors.length > 0 && from.importer.includes(NODE_MODULES) ? { path, external: true } : undefined;
    });
  },
};

/**
 * Each module goes on believing that it lies where it lay, where its Lua, its pages or its addon are.
 * @param {string} outdir
 * @returns {Plugin}
 */
const places = (outdir) => ({
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?js$/, namespace: 'file' }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: placed(text, path, outdir), loader: 'js' };
    });
  },
});

/**
 * Modules that are no files.
 * @param {Readonly<Record<string, string>>} sources
 * @returns {Plugin}
 */
const given = (sources) => ({
  name: 'given',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^source:/ }, ({ path }) => ({ path: path.slice('source:'.length), namespace: 'given' }));
    onLoad({ filter: /.*/, namespace: 'given' }, ({ path }) => ({ contents: sources[path] ?? '', loader: 'js', resolveDir: ROOT }));
  },
});

/**
 * @param {string} text
 * @param {string} path
 * @param {string} outdir
 */
function placed(text, path, outdir) {
  const place = relative(outdir, path).split(sep).join('/');
  if (text.includes('import.meta.url')) return text.replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`);
  if (!/\b__(dir|file)name\b/.test(text)) return text;
  return `var __filename = pathFromBundle('${place}'), __dirname = pathFromBundle('${dirname(place)}'); ${text}`;
}
