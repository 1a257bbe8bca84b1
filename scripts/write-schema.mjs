/** Writes the JSON Schemas in docs/schema from the tables of fields: npm run schema. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, importBuilt } from './build.mjs';
import { ROOT } from './paths.mjs';

await build();
const { ruleSchema } = await importBuilt('libs/limiter/src/rules/rule-schema.js');
const { configurationSchema } = await importBuilt('apps/rules-api/src/configuration/configuration-schema.js');
const { routesSchema } = await importBuilt('apps/gateway/src/routes/routes-schema.js');
const { openApiDocument } = await importBuilt('apps/decision-api/src/openapi/document.js');
for (const [name, schema] of Object.entries({ rule: ruleSchema(), configuration: configurationSchema(), routes: routesSchema() }))
  writeFileSync(join(ROOT, `docs/schema/${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
writeFileSync(join(ROOT, 'docs/schema/decision-api.openapi.json'), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
