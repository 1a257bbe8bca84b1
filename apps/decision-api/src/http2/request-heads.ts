import { ConnectionError } from './connection-error.js';
import { ErrorCode } from './frames.js';
import { CompressionError, HeaderDecoder } from './header-decoder.js';
import type { HeaderField } from './header-table.js';
import { requestHead, type RequestHead } from './request-head.js';

/** The head of a request, as those who answer want it. */
export interface KnownHead<Head> {
  readonly head: Head;
  /** Bytes of its body; below 0: it was not said. */
  readonly length: number;
}

interface KnownBlock<Head> extends KnownHead<Head> {
  readonly block: Buffer;
  /** Of the table, when it was read. */
  readonly changes: number;
}

/** Reads the blocks of headers of one connection, in the order in which they come. */
export class RequestHeads<Head> {
  private readonly decoder: HeaderDecoder;
  /** Most callers send the same head again and again. */
  private known: KnownBlock<Head> | undefined;

  /**
   * @param mostBytes of one block, as a table counts its fields
   * @param headOf what is made of a head, once for as many requests as have the same
   */
  constructor(
    mostBytes: number,
    private readonly headOf: (head: RequestHead) => Head,
  ) {
    this.decoder = new HeaderDecoder(mostBytes);
  }

  /** Answers with what the stream is to be reset if it is no head of a request. @throws ConnectionError */
  read(block: Buffer): KnownHead<Head> | ErrorCode | 'too_large' {
    const { known } = this;
    if (known !== undefined && known.changes === this.decoder.changes && known.block.equals(block)) return known;
    const { changes } = this.decoder;
    const fields = this.fieldsOf(block);
    if (fields === undefined) return 'too_large';
    const head = requestHead(fields);
    if (head === undefined) return ErrorCode.Protocol;
    const found = { block, changes, head: this.headOf(head), length: Number(head.headers.get('content-length') ?? -1) };
    // One that changes the table means something else the next time.
    if (changes === this.decoder.changes) this.known = { ...found, block: Buffer.from(block) };
    return found;
  }

  /** Undefined: there is too much of it. @throws ConnectionError */
  fieldsOf(block: Buffer): readonly HeaderField[] | undefined {
    try {
      return this.decoder.decode(block);
    } catch (error) {
      if (error instanceof CompressionError) throw new ConnectionError(ErrorCode.Compression);
      throw error;
    }
  }
}
