import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createRoutes } from '../http/routes.js';
import { faultsOf } from '../http/valid-body.js';
import { CHECK_FIELDS, WAIT_FIELDS } from '../decisions/check-fields.js';
import { BATCH_FIELDS } from '../http/batch-call.js';
import { REFUND_FIELDS, SETTLEMENT_FIELDS } from '../http/claim-calls.js';
import { openApiDocument } from './document.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a document whose parts fail the test if they are not there
type Document = any;
const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
  default: new (options: object) => { compile(schema: unknown): ((value: unknown) => boolean) & { errors?: unknown } };
};
const document = openApiDocument() as Document;
const ajv = new Ajv({ strict: false, validateFormats: false });

/** With the schemas to which others refer where they are looked up. */
const fits = (schema: object, value: unknown): unknown => {
  const check = ajv.compile({ ...schema, components: document.components as object });
  return check(value) ? [] : check.errors;
};

it('docs/schema/decision-api.openapi.json is what the tables of fields say; npm run schema writes it', () => {
  const file = join(import.meta.dirname, '../../../../docs/schema/decision-api.openapi.json');
  expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(document, null, 2)}\n`);
});

it('docs/decision-api.md has every reason, as the protobuf file says', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/decision-api.md'), 'utf8');
  const reasons = document.components.schemas.Decision.properties.reason.enum as string[];
  expect(reasons.filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
});

it('every call is in it, and no other', () => {
  const routes = Object.keys(createRoutes({} as never))
    .filter((path) => path !== '/openapi.json')
    .map((path) => path.replace('**', '{path}'));
  expect(Object.keys(document.paths as object).sort()).toEqual(routes.sort());
});

const contents = Object.entries(document.paths as object).flatMap(([path, { post }]: [string, Document]) => [
  ...(post.requestBody ? [[`${path} asks`, post.requestBody.content['application/json']]] : []),
  ...Object.entries(post.responses as object).flatMap(([status, { content = {} }]: [string, Document]) =>
    Object.values(content as object)
      .filter((each: Document) => each.example !== undefined)
      .map((each) => [`${path} answers ${status}`, each]),
  ),
]) as [string, Document][];

it.each(contents)('the example with which %s fits its schema', (_what, { schema, example }) => {
  expect(fits(schema as object, example)).toEqual([]);
});

it.each([
  ['/v1/check', CHECK_FIELDS],
  ['/v1/check/batch', BATCH_FIELDS],
  ['/v1/wait', WAIT_FIELDS],
  ['/v1/refund', REFUND_FIELDS],
  ['/v1/settle', SETTLEMENT_FIELDS],
] as const)('the example of %s is a body that is taken, and what the table refuses the schema refuses', (path, fields) => {
  const { schema, example } = document.paths[path].post.requestBody.content['application/json'];
  expect(faultsOf(example as Record<string, unknown>, fields, '')).toEqual([]);
  for (const wrong of [{ ...example, unknown: 1 }, {}]) {
    expect(faultsOf(wrong as Record<string, unknown>, fields, '')).not.toEqual([]);
    expect(fits(schema as object, wrong)).not.toEqual([]);
  }
});
