import type { BucketTake, LendRequest, Lent } from '#limiter';
import { ByteWriter } from '../connection/byte-writer.js';
import type { PackedArguments } from '../connection/packed-command.js';
import { packTakes, problemOf, TakeReply } from './take-call.js';

/** The wire format of lua/lend.lua: one call for words about many leases. */

const END = Buffer.from('\r\n');
/** Numbers that stand in front of what a bucket holds. */
const NUMBERS = 5;

/** Used again for every call; nothing is awaited while one is packed. */
const words = new ByteWriter(1024);
const head = new ByteWriter(32);

/** @param nowMs @param clock as for a take */
export function packLends(requests: readonly LendRequest[], nowMs: number, clock: 'given' | 'of server'): PackedArguments {
  const asked = requests.map((request) => ({ takes: [lookOf(request)], holder: 0, spare: false, withFormer: true }));
  const buckets = packTakes(asked, nowMs, clock);
  words.clear();
  for (const { lessee, sequence, holds, givesBack, overspent, wants, forUs } of requests) {
    words.u32(lessee);
    words.f64(sequence, holds, givesBack, overspent, wants, forUs);
  }
  head.clear();
  head.ascii(`$${words.length}\r\n`);
  return {
    ...buckets,
    argumentCount: buckets.argumentCount + 1,
    frames: [...buckets.frames, head.written(), words.written(), END],
  };
}

/** What a level in an answer is for. */
function lookOf({ key, bucket }: LendRequest): BucketTake {
  return { key, bucket, cost: 1 };
}

/** Reads a reply, word by word, in the order in which they were packed. */
export class LendReply {
  private readonly levels: TakeReply;

  constructor(numbers: readonly number[]) {
    this.levels = new TakeReply(numbers);
  }

  /** `stale` for a word that came with outdated numbers, `again` for one that has to say more: nothing was done. */
  next(request: LendRequest): Lent | 'stale' | 'again' {
    const [kept, granted, charged, forUs, lentElsewhere] = this.levels.plain(NUMBERS) as [number, number, number, number, number];
    const [level] = this.levels.next([lookOf(request)]) as [Lent['level']];
    return problemOf(kept) ?? { kept, granted, charged, forUs, level, lentElsewhere };
  }

  /** When it was, by the clock of the server, in microseconds; negative if Redis was full. */
  get atUs(): number {
    return this.levels.atUs;
  }

  get wasWritten(): boolean {
    return this.levels.wasWritten;
  }
}
