import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs';

/** What stands for bytes that are no text. */
const REPLACED = '\ufffd';

/** Reads messages as the language says: the reader of protobufjs cuts a text off where the message ends, and replaces what is no UTF-8, so that two texts become one. */
export class StrictReader extends protobuf.BufferReader {
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
