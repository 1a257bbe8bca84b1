import { type AnswerHead, type BodyFacts, MOST_BODY_BYTES, readBody, unreadableBody, type UnreadableBody } from '#limiter';

/** Of `application/problem+json` as of `application/json`; without a charset, or with the only one that JSON has. */
const JSON_TYPE = /^\s*application\/(?:json|[\w!#$&^.+-]+\+json)\s*(?:;\s*charset\s*=\s*(?:utf-8|"utf-8")\s*)?;?\s*$/i;

/**
 * Why nothing can be read in a body with such headers, as they are passed on; undefined if it may be JSON. What others might read in another way, a type that is said
 * twice or with further parameters, is not read.
 *
 * @param bytes its declared length, below 0 if there is none
 */
export function unreadableByHead({ headerValues }: Pick<AnswerHead, 'headerValues'>, bytes: number): UnreadableBody | undefined {
  const encodings = headerValues('content-encoding');
  if (encodings.some((each) => !/^\s*(?:identity)?\s*$/i.test(each))) return 'encoded';
  const types = headerValues('content-type');
  if (types.length !== 1 || !JSON_TYPE.test(types[0]!)) return 'other_type';
  return bytes > MOST_BODY_BYTES ? 'too_large' : undefined;
}

/** The body of an answer, looked at while it passes. */
export class PassingBody {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private isWhole = false;

  /** @param reserve memory for what is kept; false: there is none */
  constructor(
    private unreadable: UnreadableBody | undefined,
    private readonly reserve: (bytes: number) => boolean,
    private readonly unreserve: (bytes: number) => void,
  ) {}

  add(chunk: Buffer): void {
    if (this.unreadable !== undefined) return;
    if (this.bytes + chunk.length > MOST_BODY_BYTES) this.giveUp('too_large');
    else if (!this.reserve(chunk.length)) this.giveUp('incomplete');
    else {
      this.bytes += chunk.length;
      this.chunks.push(chunk);
    }
  }

  /** All of it has passed. */
  whole(): void {
    this.isWhole = true;
  }

  /** What has passed. It keeps nothing of that afterwards. */
  read(): BodyFacts {
    const { chunks, isWhole, unreadable } = this;
    const facts = unreadable === undefined && isWhole ? readBody(Buffer.concat(chunks)) : unreadableBody(unreadable ?? 'incomplete');
    this.giveUp('incomplete');
    return facts;
  }

  private giveUp(reason: UnreadableBody): void {
    this.unreadable = reason;
    this.unreserve(this.bytes);
    this.bytes = 0;
    this.chunks.length = 0;
  }
}
