import { type HeaderField, HeaderTable, sizeOf } from './header-table.js';
import { huffmanText } from './huffman.js';

/** The bytes of a block of headers are none: what the sender says after it cannot be understood any more. */
export class CompressionError extends Error {}

/** What we allow, and what is so unless somebody says otherwise. */
const MOST_TABLE_BYTES = 4_096;
/** Of a number: enough for any length that fits into a block. */
const MOST_NUMBER_SHIFT = 21;

/** The bits of a byte by which a representation is known: RFC 7541, 6. */
const [INDEXED, KEPT, RESIZED] = [0x80, 0x40, 0x20];

/** Reads blocks of headers in the order in which they came: RFC 7541. */
export class HeaderDecoder {
  /** How often the table has changed: between two changes the same bytes mean the same. */
  changes = 0;
  private readonly table = new HeaderTable(MOST_TABLE_BYTES);
  private block: Buffer = Buffer.alloc(0);
  private at = 0;

  /** @param mostBytes of all fields of a block, as a table counts them */
  constructor(private readonly mostBytes: number) {}

  /** Undefined: the fields are larger than is allowed. @throws CompressionError */
  decode(block: Buffer): readonly HeaderField[] | undefined {
    this.block = block;
    this.at = 0;
    const fields: HeaderField[] = [];
    let bytes = 0;
    while (this.at < block.length) {
      const first = block[this.at]!;
      if ((first & 0xe0) === RESIZED) {
        if (fields.length > 0) throw new CompressionError('a table is resized in the middle of a block');
        this.resize();
        continue;
      }
      const field = first & INDEXED ? this.indexed() : this.literal(first);
      // Read on: fields that come later refer to what stands in this block.
      bytes += sizeOf(field);
      if (bytes <= this.mostBytes) fields.push(field);
    }
    return bytes <= this.mostBytes ? fields : undefined;
  }

  private indexed(): HeaderField {
    const field = this.table.at(this.number(7));
    if (field === undefined) throw new CompressionError('a field that is in no table');
    return field;
  }

  private literal(first: number): HeaderField {
    const isKept = (first & KEPT) !== 0;
    const index = this.number(isKept ? 6 : 4);
    const name = index === 0 ? this.text() : this.table.at(index)?.name;
    if (name === undefined) throw new CompressionError('a name that is in no table');
    const field = { name, value: this.text() };
    if (isKept) {
      this.table.add(field);
      this.changes++;
    }
    return field;
  }

  private resize(): void {
    const bytes = this.number(5);
    if (bytes > MOST_TABLE_BYTES) throw new CompressionError('a table larger than is allowed');
    this.table.resize(bytes);
    this.changes++;
  }

  /** RFC 7541, 5.1. */
  private number(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = this.byte() & most;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      if (shift > MOST_NUMBER_SHIFT) throw new CompressionError('a number without an end');
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  private text(): string {
    const isHuffman = (this.block[this.at] ?? 0) >= 0x80;
    const length = this.number(7);
    const start = this.at;
    const end = start + length;
    if (end > this.block.length) throw new CompressionError('a text longer than its block');
    this.at = end;
    const text = isHuffman ? huffmanText(this.block, start, end) : this.block.toString('latin1', start, end);
    if (text === undefined) throw new CompressionError('a text that is none');
    return text;
  }

  private byte(): number {
    if (this.at >= this.block.length) throw new CompressionError('a block that ends too early');
    return this.block[this.at++]!;
  }
}
