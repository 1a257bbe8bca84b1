import { PassingBody, unreadableByHead } from '#edge';
import type { AnswerHead, BodyFacts } from '#limiter';
import type { NodeResponse } from './node-http.js';

/** Memory for what is looked at of all answers together. */
const MOST_BYTES = 16 * 1024 * 1024;

let heldBytes = 0;

interface Written {
  write: (this: void, chunk: unknown, ...more: unknown[]) => boolean;
  end: (this: void, chunk?: unknown, ...more: unknown[]) => unknown;
}

/** Looks at the body of an answer while it is written, for charges that wait for it. @returns what has been written, to be asked once */
export function watchBody(response: NodeResponse, head: () => AnswerHead): () => BodyFacts {
  const written = response as unknown as Written;
  const { write, end } = written;
  let passing: PassingBody | undefined;
  let isWhole = false;
  const begun = (): PassingBody => (passing ??= new PassingBody(unreadableByHead(head(), -1), reserve, unreserve));
  const add = (chunk: unknown, encoding: unknown): void => {
    // To end a response of HTTP/2 is to write the last piece first.
    const bytes = isWhole ? undefined : bytesOf(chunk, encoding);
    if (bytes !== undefined) begun().add(bytes);
  };
  written.write = (chunk, ...more) => {
    add(chunk, more[0]);
    return write.call(response as never, chunk, ...more);
  };
  written.end = (chunk, ...more) => {
    add(chunk, more[0]);
    begun().whole();
    isWhole = true;
    return end.call(response as never, chunk, ...more);
  };
  return () => begun().read();
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === 'string') return Buffer.from(chunk, Buffer.isEncoding(String(encoding)) ? (encoding as BufferEncoding) : 'utf8');
  // What handlers write may be theirs to change afterwards.
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : undefined;
}

function reserve(bytes: number): boolean {
  if (heldBytes + bytes > MOST_BYTES) return false;
  heldBytes += bytes;
  return true;
}

function unreserve(bytes: number): void {
  heldBytes -= bytes;
}
