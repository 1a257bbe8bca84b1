import { StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import { itemsOfPieces } from '#rules-db';

/** A longer answer is not kept to be repeated: it travels to the database in one statement. */
const MOST_KEPT_BYTES = 12 * 1024 * 1024;

/** A packed answer as JSON can hold it. */
export interface KeptAnswer {
  readonly before: string;
  /** In base64. */
  readonly pieces: readonly string[];
  readonly after: string;
}

/** A long list of JSON, packed, with what stands around it. It is unpacked while it is sent, so that one piece of it at a time is in memory. */
export class PackedAnswer extends StreamableFile {
  /** @param pieces of a Spool */
  constructor(
    private readonly before: string,
    private readonly pieces: readonly Buffer[],
    private readonly after: string,
  ) {
    super(Readable.from(textOf(before, pieces, after), { objectMode: false }), { type: 'application/json' });
  }

  /** What makes the same answer again; undefined if it is too long for that. */
  kept(): KeptAnswer | undefined {
    const { before, pieces, after } = this;
    if (pieces.reduce((sum, { length }) => sum + length, 0) > MOST_KEPT_BYTES) return undefined;
    return { before, pieces: pieces.map((piece) => piece.toString('base64')), after };
  }

  static again({ before, pieces, after }: KeptAnswer): PackedAnswer {
    return new PackedAnswer(
      before,
      pieces.map((piece) => Buffer.from(piece, 'base64')),
      after,
    );
  }
}

function* textOf(before: string, pieces: readonly Buffer[], after: string): Generator<string> {
  yield before;
  yield* itemsOfPieces(pieces);
  yield after;
}
