import { stringify } from 'yaml';
import type { Configuration, ConfiguredMerchant, ConfiguredPlan } from './configuration.dto.js';
import { configurationSchemaUrl } from './configuration-schema.js';

/** Plans, merchants and default rules piece by piece, as they are read. */
export interface Pieces {
  /** Before the merchants that name them. */
  readonly plans: AsyncIterable<readonly ConfiguredPlan[]>;
  readonly merchants: AsyncIterable<readonly ConfiguredMerchant[]>;
  /** Undefined: the document does not manage them. */
  readonly defaultRules: () => Promise<Configuration['defaultRules']>;
}

/** The text of a document, in pieces. */
export type Writer = (pieces: Pieces) => AsyncGenerator<string>;

export const WRITERS: Readonly<Record<'yaml' | 'json', Writer>> = { yaml: yamlOf, json: jsonOf };

async function* jsonOf({ plans, merchants, defaultRules }: Pieces): AsyncGenerator<string> {
  yield '{"version":1,';
  let hasPlans = false;
  for await (const text of jsonItems(plans)) {
    yield hasPlans ? text : `\n"plans":[${text}`;
    hasPlans = true;
  }
  yield `${hasPlans ? '\n],' : ''}\n"merchants":[`;
  yield* jsonItems(merchants);
  const rules = await defaultRules();
  yield rules === undefined ? '\n]}\n' : `\n],\n"defaultRules":[\n${rules.map((rule) => JSON.stringify(rule)).join(',\n')}\n]}\n`;
}

async function* jsonItems(pieces: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  let separator = '\n';
  for await (const some of pieces) {
    if (some.length === 0) continue;
    yield separator + some.map((each) => JSON.stringify(each)).join(',\n');
    separator = ',\n';
  }
}

async function* yamlOf({ plans, merchants, defaultRules }: Pieces): AsyncGenerator<string> {
  yield `# yaml-language-server: $schema=${configurationSchemaUrl()}\nversion: 1\n`;
  let hasPlans = false;
  for await (const some of plans) {
    if (some.length === 0) continue;
    yield `${hasPlans ? '' : 'plans:\n'}${yamlText(some)}`;
    hasPlans = true;
  }
  let isEmpty = true;
  for await (const some of merchants) {
    if (some.length === 0) continue;
    if (isEmpty) yield 'merchants:\n';
    isEmpty = false;
    yield yamlText(some);
  }
  if (isEmpty) yield 'merchants: []\n';
  const rules = await defaultRules();
  if (rules !== undefined) yield rules.length === 0 ? 'defaultRules: []\n' : `defaultRules:\n${yamlText(rules)}`;
}

/** The items of a list. They need no indentation below the name of the list. */
function yamlText(items: readonly unknown[]): string {
  return stringify(items, { lineWidth: 0, aliasDuplicateObjects: false });
}
