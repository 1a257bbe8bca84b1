/** Up to this length a loop is cheaper than the way into C++. */
const SHORT = 40;

/** Bytes that grow, little-endian. */
export class ByteWriter {
  bytes: Uint8Array;
  length = 0;
  private view: DataView;
  private buffer: Buffer;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.buffer = Buffer.from(this.bytes.buffer);
  }

  clear(): void {
    this.length = 0;
  }

  /** What was written, valid until more is. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** Copies a piece, in a loop, which beats `set` for the few dozen bytes of a bucket. Returns where it begins. */
  copy(from: Uint8Array, start: number, end: number): number {
    this.makeRoom(end - start);
    const { bytes } = this;
    const begin = this.length;
    let at = begin;
    for (let i = start; i < end; i++) bytes[at++] = from[i]!;
    this.length = at;
    return begin;
  }

  /** A text as Redis wants an argument: `$<bytes>\r\n<text>\r\n`. */
  frame(text: string): void {
    const size = Buffer.byteLength(text);
    this.ascii(`$${size}\r\n`);
    const isAscii = size === text.length;
    if (isAscii && size <= SHORT) {
      this.ascii(text);
    } else {
      this.makeRoom(size);
      this.length += this.buffer.write(text, this.length, isAscii ? 'latin1' : 'utf8');
    }
    this.ascii('\r\n');
  }

  ascii(text: string): void {
    this.makeRoom(text.length);
    for (let i = 0; i < text.length; i++) this.bytes[this.length++] = text.charCodeAt(i);
  }

  u8(value: number): void {
    this.makeRoom(1);
    this.bytes[this.length++] = value;
  }

  u16(value: number): void {
    this.makeRoom(2);
    this.view.setUint16(this.length, value, true);
    this.length += 2;
  }

  u32(value: number): void {
    this.makeRoom(4);
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }

  f64(...values: number[]): void {
    this.makeRoom(8 * values.length);
    for (const value of values) {
      this.view.setFloat64(this.length, value, true);
      this.length += 8;
    }
  }

  /** Overwrites what was written. */
  f64At(position: number, value: number): void {
    this.view.setFloat64(position, value, true);
  }

  private makeRoom(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + count));
    larger.set(this.written());
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
    this.buffer = Buffer.from(larger.buffer);
  }
}
