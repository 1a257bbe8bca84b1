/** Schemathesis, which makes requests from the OpenAPI document. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { obtainPython } from '../scripts/services/python.mjs';

/** @returns {Promise<{ program: string } | { missing: string }>} */
export async function obtainSchemathesis() {
  const python = await obtainPython({
    title: 'Schemathesis',
    name: 'schemathesis',
    requirements: readFileSync(join(ROOT, 'fuzz', 'requirements.txt'), 'utf8'),
    oldest: [3, 11],
  });
  return 'missing' in python ? python : { program: join(python.bin, 'schemathesis') };
}
