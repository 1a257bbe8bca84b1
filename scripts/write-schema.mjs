/** Writes the JSON Schemas in docs/schema from the tables of fields: npm run schema. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { DIST, ROOT } from './paths.mjs';

await build();
const load = (/** @type {string} */ file) => import(pathToFileURL(join(DIST, file)).href);
const { ruleSchema } = await load('libs/limiter/src/rule-schema.js');
const { configurationSchema } = await load('apps/rules-api/src/configuration/configuration-schema.js');
const { routesSchema } = await load('apps/gateway/src/routes/routes-schema.js');
for (const [name, schema] of Object.entries({ rule: ruleSchema(), configuration: configurationSchema(), routes: routesSchema() }))
  writeFileSync(join(ROOT, `docs/schema/${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
