import { isUtf8 } from 'node:buffer';
import { ProblemError } from './problem.js';

/** Four times the depth of the deepest valid body, at least. */
const MAX_DEPTH = 32;

const BYTE_ORDER_MARK = 0xefbbbf;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Both kinds of brackets, which differ in one bit. */
const [OPENING, CLOSING, BRACKET_KIND] = [0x5b, 0x5d, 0x20];

/** It keeps nothing between two bodies. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes a JSON body. A body that is not UTF-8 is refused: otherwise two different names could be stored as one, with U+FFFD where
 * they differ. A body that is nested deeply is refused as well, before any recursive code reads it.
 *
 * @throws ProblemError 400
 */
export function jsonText(body: Buffer): string {
  demandDepth(body);
  try {
    return decoder.decode(body);
  } catch (error) {
    throw notUtf8(error);
  }
}

/** The same for a body that is too large to be decoded at once: its bytes, without the mark that some writers put in front. @throws ProblemError 400 */
export function jsonBytes(body: Buffer): Buffer {
  demandDepth(body);
  if (!isUtf8(body)) throw notUtf8();
  return body.length >= 3 && body.readUIntBE(0, 3) === BYTE_ORDER_MARK ? body.subarray(3) : body;
}

function notUtf8(cause?: unknown): ProblemError {
  return new ProblemError({ status: 400, code: 'body.malformed', detail: 'the body is not valid UTF-8' }, { cause });
}

function demandDepth(body: Buffer): void {
  if (depthOf(body) > MAX_DEPTH)
    throw new ProblemError({
      status: 400,
      code: 'body.nested_too_deeply',
      detail: `the body is nested more than ${MAX_DEPTH} levels deep`,
    });
}

/** The depth of nested lists and objects, or a value above MAX_DEPTH. Invalid JSON has a depth too, and is refused later. */
function depthOf(body: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let at = 0; at < body.length && deepest <= MAX_DEPTH; at++) {
    const byte = body[at]!;
    if (inText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if ((byte & ~BRACKET_KIND) === OPENING) deepest = Math.max(deepest, ++depth);
    else if ((byte & ~BRACKET_KIND) === CLOSING) depth--;
  }
  return deepest;
}
