import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';

/** Where the chain of the audit is broken. */
export interface ChainFault {
  /** The place in the chain. */
  readonly seq: number;
  readonly fault: string;
}

/** The last row of the chain. Whoever keeps it elsewhere can tell later that nothing up to there was written anew. */
export interface ChainHead {
  readonly seq: number;
  /** Hexadecimal. */
  readonly hash: string;
}

export interface ChainReport {
  readonly rows: number;
  readonly head: ChainHead;
  /** The first of them, at most `MOST_FAULTS`. None: no row was altered, removed or added. */
  readonly faults: readonly ChainFault[];
}

export interface VerifyOptions {
  /** A head that was noted earlier: that row must still be the same. */
  readonly expected?: ChainHead | undefined;
  /** Told after each chunk how many rows were checked. */
  readonly onProgress?: (rows: number) => void;
}

export const MOST_FAULTS = 20;
const CHUNK = 2_000;

interface Row {
  readonly seq: string;
  readonly hash: Buffer;
  readonly content: string;
}

/** The same text that the trigger hashes, written out here so that the check does not believe a function of the database. */
const CONTENT = `jsonb_build_array(
  seq, (extract(epoch FROM at) * 1000000)::bigint, actor, request_id, action, merchant_id, rule_id, reason, before, after)::text`;

/**
 * Walks the whole audit and recomputes its chain. It finds every row that was altered, removed or added since it was written, unless somebody
 * with the rights of the database's owner computed the whole rest of the chain anew; against that helps a head that was noted
 * elsewhere. Reads in chunks, so memory stays flat; rows written meanwhile are checked as well.
 */
export async function verifyAuditChain(dataSource: DataSource, { expected, onProgress }: VerifyOptions = {}): Promise<ChainReport> {
  const faults: ChainFault[] = [];
  const report = (seq: number, fault: string): void => void (faults.length < MOST_FAULTS && faults.push({ seq, fault }));
  let [seq, rows] = [0, 0];
  let hash: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = (await dataSource.query(`SELECT seq, hash, ${CONTENT} AS content FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2`, [
      seq,
      CHUNK,
    ])) as Row[];
    for (const row of chunk) {
      const found = Number(row.seq);
      if (found !== seq + 1) report(seq + 1, found === seq + 2 ? 'the row is missing' : `the rows up to ${found - 1} are missing`);
      // After a gap nobody knows what the hash before was.
      else if (!sha256(hash, row.content).equals(row.hash)) report(found, 'the row is not what was written, or was added');
      if (found === expected?.seq && row.hash.toString('hex') !== expected.hash)
        report(found, 'the row differs from the one that was noted');
      [seq, hash] = [found, row.hash];
    }
    rows += chunk.length;
    onProgress?.(rows);
    if (chunk.length < CHUNK) break;
  }
  await checkHead(dataSource, seq, hash, report);
  if (expected !== undefined && expected.seq > seq) report(expected.seq, 'the row that was noted is missing');
  return { rows, head: { seq, hash: hash.toString('hex') }, faults };
}

/** The head is written with each row: rows that are missing at the end show there. It may have moved on meanwhile, together with its row. */
async function checkHead(dataSource: DataSource, seq: number, hash: Buffer, report: (seq: number, fault: string) => void): Promise<void> {
  const [head] = (await dataSource.query(
    `SELECT h.seq, h.hash, (SELECT a.hash FROM audit a WHERE a.seq = h.seq) AS row_hash FROM audit_head h`,
  )) as { seq: string; hash: Buffer; row_hash: Buffer | null }[];
  if (head === undefined) return report(seq + 1, 'the head of the chain is missing');
  if (Number(head.seq) < seq) return report(Number(head.seq) + 1, 'rows were added behind the head of the chain');
  const rowHash = Number(head.seq) === 0 ? Buffer.alloc(0) : head.row_hash;
  if (rowHash === null) report(seq + 1, `the rows up to ${head.seq} are missing`);
  else if (!rowHash.equals(head.hash) || (Number(head.seq) === seq && !head.hash.equals(hash)))
    report(seq, 'the head of the chain is another one');
}

function sha256(before: Buffer, content: string): Buffer {
  return createHash('sha256').update(before).update(content).digest();
}
