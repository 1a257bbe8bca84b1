/** Compares what a server answers with what its OpenAPI document says of the call. */
import { createRequire } from 'node:module';

const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
  default: new (options: object) => { compile(schema: unknown): ((value: unknown) => boolean) & { errors?: unknown } };
};

interface Content {
  readonly schema: object;
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>> }>>
    >
  >;
  readonly components: object;
}

export interface Answered {
  /** With or without a query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly body: unknown;
}

/** @returns what is wrong with an answer to a POST, by the document; none for paths that are not in it */
export function answerChecker(document: unknown): (answered: Answered) => unknown {
  const { paths, components } = document as Document;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const checks = new Map<Content, ReturnType<typeof ajv.compile>>();
  return ({ path, status, contentType, body }) => {
    const operation = paths[path.split('?')[0]!]?.['post'];
    if (operation === undefined) return [];
    const content = operation.responses[status]?.content?.[contentType ?? ''];
    if (content === undefined) return [`${path} has no answer of ${status} with ${contentType}`];
    let check = checks.get(content);
    if (check === undefined) checks.set(content, (check = ajv.compile({ ...content.schema, components })));
    return check(body) ? [] : [path, status, check.errors];
  };
}
