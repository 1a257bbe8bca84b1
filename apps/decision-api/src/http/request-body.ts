import type { IncomingMessage } from 'node:http';
import { isPlainObject } from '#limiter';
import { jsonText, ProblemError } from '#platform';
import { tooManyBodies } from '../problems.js';

/** How many bytes of bodies are in memory, of all calls together. */
export class BodyBudget {
  private used = 0;

  constructor(private readonly most: number) {}

  take(bytes: number): boolean {
    if (this.used + bytes > this.most) return false;
    this.used += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.used -= bytes;
  }
}

const JSON_TYPE = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/**
 * The body of a call, a JSON object. What is too large is read on and dropped, so that its sender reads the answer; the time for a whole request bounds that.
 *
 * @throws ProblemError
 */
export async function readJsonObject(
  request: IncomingMessage,
  mostBytes: number,
  budget: BodyBudget,
): Promise<Readonly<Record<string, unknown>>> {
  if (!isJsonType(request.headers['content-type'] ?? ''))
    throw new ProblemError({ status: 415, code: 'body.wrong_media_type', detail: 'expected a body of content type application/json' });
  return jsonObject(await readBytes(request, mostBytes, budget));
}

/** @param contentType as a header says it; empty: there is none */
export function isJsonType(contentType: string): boolean {
  return contentType === 'application/json' || JSON_TYPE.test(contentType);
}

/** @throws ProblemError 400 */
export function jsonObject(body: Buffer): Readonly<Record<string, unknown>> {
  const text = jsonText(body);
  if (text === '') throw new ProblemError({ status: 400, code: 'body.missing', detail: 'expected a JSON object, got nothing' });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ProblemError({ status: 400, code: 'body.malformed', detail: 'the body is not valid JSON' }, { cause });
  }
  if (isPlainObject(value)) return value;
  throw new ProblemError({ status: 400, code: 'body.wrong_type', detail: 'the body must be a JSON object' });
}

/** Rejects with nothing but a ProblemError; if the sender goes away meanwhile, that of a body that is not whole. */
export function readBytes(request: IncomingMessage, mostBytes: number, budget: BodyBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let held = 0;
    let problem: ProblemError | undefined;
    let isWhole = false;
    const giveUp = (why: ProblemError): void => {
      problem = why;
      budget.giveBack(held);
      held = 0;
      chunks.length = 0;
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (problem !== undefined) return;
      if (bytes > mostBytes) giveUp(tooLarge(mostBytes));
      else if (!budget.take(chunk.length)) giveUp(tooManyBodies());
      else {
        held += chunk.length;
        chunks.push(chunk);
      }
    });
    request.on('end', () => {
      budget.giveBack(held);
      held = 0;
      isWhole = true;
      if (problem === undefined) resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      else reject(problem);
    });
    request.on('close', () => {
      if (isWhole) return;
      budget.giveBack(held);
      held = 0;
      reject(new ProblemError({ status: 400, code: 'body.wrong_length', detail: 'the body has not come whole' }));
    });
    request.on('error', () => {});
  });
}

function tooLarge(mostBytes: number): ProblemError {
  return new ProblemError({ status: 413, code: 'body.too_large', detail: `the body is larger than ${mostBytes} bytes` });
}
