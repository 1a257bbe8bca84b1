import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs';

/** What stands for bytes that are no text. */
const REPLACED = '\ufffd';

/** Bytes of a number of 32 bits at most; of the last one the lowest four bits count. */
const LAST_BYTE = 4;
const MOST_OF_LAST = 0x0f;

/**
 * Reads messages as the language says: the reader of protobufjs cuts a text off where the message ends, replaces what is no UTF-8, so that two texts become one, and
 * drops what is above 32 bits, so that a text of 2^63 bytes is an empty one.
 */
export class StrictReader extends protobuf.BufferReader {
  /** A length, a field and its kind, or a number of 32 bits. @throws RangeError */
  override uint32(): number {
    const start = this.pos;
    const value = super.uint32();
    if (this.pos > start + LAST_BYTE && this.buf[start + LAST_BYTE]! > MOST_OF_LAST)
      throw new RangeError('a number is larger than 32 bits');
    return value;
  }

  /** Numbers below 0, of enums too, are written in 64 bits. @throws RangeError */
  override int32(): number {
    return super.uint32() | 0;
  }

  /** @throws RangeError */
  override string(): string {
    const length = this.uint32();
    const start = this.pos;
    const end = start + length;
    if (end > this.len) throw new RangeError('a text is longer than the message');
    const bytes = this.buf as Buffer;
    const text = bytes.toString('utf8', start, end);
    if (text.includes(REPLACED) && !isUtf8(bytes.subarray(start, end))) throw new RangeError('a text is not UTF-8');
    this.pos = end;
    return text;
  }
}
