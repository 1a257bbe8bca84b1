/** Writes docs/schema/rule.schema.json from the tables of fields: npm run schema. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { DIST, ROOT } from './paths.mjs';

await build();
const { ruleSchema } = await import(pathToFileURL(join(DIST, 'libs/limiter/src/rule-schema.js')).href);
writeFileSync(join(ROOT, 'docs/schema/rule.schema.json'), `${JSON.stringify(ruleSchema(), null, 2)}\n`);
