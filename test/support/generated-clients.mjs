/**
 * Makes clients of the Rules API by two stock generators, checks the types of the programs in examples/clients against them, runs these programs, and
 * prints what they say as JSON. A process of its own, because generators keep what they need for ever.
 *
 *   node generated-clients.mjs URL TOKEN
 */
import { createClient } from '@hey-api/openapi-ts';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { ROOT } from '../../scripts/paths.mjs';

const PROGRAMS = ['openapi-fetch', 'hey-api'];

/** @type {ts.CompilerOptions} */
const OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  strict: true,
  skipLibCheck: true,
  types: [],
};

const [url = '', token = ''] = process.argv.slice(2);
// Inside the checkout, so that the programs find the packages that they import.
const data = join(ROOT, '.tollgate');
mkdirSync(data, { recursive: true });
const place = mkdtempSync(join(data, 'generated-clients-'));
try {
  await generate(join(place, 'generated'));
  compile();
  /** @type {Record<string, unknown>} */
  const said = {};
  for (const name of PROGRAMS) said[name] = await (await import(pathToFileURL(join(place, `${name}.js`)).href)).use(url, token);
  console.log(JSON.stringify(said));
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** @param {string} folder */
async function generate(folder) {
  const document = /** @type {any} */ (await (await fetch(`${url}/openapi.json`)).json());
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'rules-api.ts'),
    astToString(await openapiTypescript(structuredClone(document), { defaultNonNullable: false })),
  );
  await createClient({
    input: document,
    output: { path: join(folder, 'hey-api'), importFileExtension: '.js' },
    logs: { level: 'silent', file: false },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  });
}

/** Type errors are faults of the document, or of the programs. */
function compile() {
  cpSync(join(ROOT, 'examples', 'clients'), place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  const program = ts.createProgram(
    PROGRAMS.map((name) => join(place, `${name}.ts`)),
    OPTIONS,
  );
  const faults = ts.getPreEmitDiagnostics(program);
  if (faults.length > 0)
    throw new Error(
      ts.formatDiagnostics(faults.slice(0, 20), {
        getCanonicalFileName: (name) => name,
        getCurrentDirectory: () => place,
        getNewLine: () => '\n',
      }),
    );
  program.emit();
}
