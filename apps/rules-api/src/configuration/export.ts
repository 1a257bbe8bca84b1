import { stringify } from 'yaml';
import type { Configuration, ConfiguredMerchant } from './configuration.dto.js';
import { configurationSchemaUrl } from './configuration-schema.js';

/** Merchants and default rules piece by piece, as they are read. */
export interface Pieces {
  readonly merchants: AsyncIterable<readonly ConfiguredMerchant[]>;
  /** Undefined: the document does not manage them. */
  readonly defaultRules: () => Promise<Configuration['defaultRules']>;
}

/** The text of a document, in pieces. */
export type Writer = (pieces: Pieces) => AsyncGenerator<string>;

export const WRITERS: Readonly<Record<'yaml' | 'json', Writer>> = { yaml: yamlOf, json: jsonOf };

async function* jsonOf({ merchants, defaultRules }: Pieces): AsyncGenerator<string> {
  yield '{"version":1,\n"merchants":[';
  let separator = '\n';
  for await (const some of merchants) {
    if (some.length === 0) continue;
    yield separator + some.map((merchant) => JSON.stringify(merchant)).join(',\n');
    separator = ',\n';
  }
  const rules = await defaultRules();
  yield rules === undefined ? '\n]}\n' : `\n],\n"defaultRules":[\n${rules.map((rule) => JSON.stringify(rule)).join(',\n')}\n]}\n`;
}

async function* yamlOf({ merchants, defaultRules }: Pieces): AsyncGenerator<string> {
  yield `# yaml-language-server: $schema=${configurationSchemaUrl()}\nversion: 1\n`;
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
