import { parseDocument } from 'yaml';
import { ProblemError } from '#platform';

/**
 * YAML takes some fifty times the memory of its text while it is parsed, and nothing else runs meanwhile. Larger documents are sent as JSON; the command
 * line always does.
 */
const MAX_YAML_BYTES = 4 * 1024 * 1024;

/** Aliases that a document may use: enough for people, too few to make a small document large. */
const MAX_ALIASES = 100;

/** Reads a body in YAML 1.2. @throws ProblemError 400, 413 */
export function parseYaml(body: Buffer): unknown {
  if (body.length > MAX_YAML_BYTES) {
    throw new ProblemError({
      status: 413,
      code: 'body.yaml_too_large',
      detail: `a body in YAML must have at most ${MAX_YAML_BYTES} bytes; send JSON instead`,
    });
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    const document = parseDocument(text, { logLevel: 'error', prettyErrors: false });
    const [error] = document.errors;
    if (error) throw error;
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch (error) {
    const [message] = (error as Error).message.split('\n');
    throw new ProblemError({ status: 400, code: 'body.malformed', detail: `the body is not valid YAML: ${message}` }, { cause: error });
  }
}
