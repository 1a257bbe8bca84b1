import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const BENCH = join(import.meta.dirname, '..');
const ROOT = join(BENCH, '..');

/** What a benchmark loads from dist/ is looked for when it runs, and nobody runs all of them each day. */
it('what benchmarks load of the build has a source at the same place', () => {
  const scripts = ['.', 'load', 'growth', 'shared'].flatMap((folder) =>
    readdirSync(join(BENCH, folder)).flatMap((name) => (name.endsWith('.mjs') ? [join(BENCH, folder, name)] : [])),
  );
  const loaded = scripts.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/join\(DIST, ((?:'[^']+'(?:, )?)+)\)/g)].map(([, parts = '']) =>
      join(...parts.replaceAll("'", '').split(', ')),
    ),
  );
  expect(loaded.length).toBeGreaterThan(2);
  expect(loaded.filter((path) => !existsSync(join(ROOT, path.replace(/\.js$/, '.ts'))))).toEqual([]);
});
