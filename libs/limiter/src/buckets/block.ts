/**
 * An operator's block of one bucket: until it is over the bucket refuses whatever asks it, a look included, and gives nothing. It stands
 * beside the bucket's state, which goes on beneath it: the bucket refills, is refunded, and is carried over edits.
 */
export interface Block {
  /** By the clock of the store, in microseconds. */
  readonly untilUs: number;
  /** How long it was when it was put there: it never lasts longer from now on, however far the clock steps back. */
  readonly lengthUs: number;
}

/** What a take finds in a bucket that is blocked. `allows` is false of it for every algorithm, because it has none of their fields. */
export interface BlockedLevel {
  /** > 0. */
  readonly blockedForUs: number;
}

export function isBlocked(level: object): level is BlockedLevel {
  return (level as Partial<BlockedLevel>).blockedForUs !== undefined;
}

/** The block as it may be at an instant: the same object, unless the clock stepped back. */
export function clampedBlock(block: Block, nowUs: number): Block {
  const latestUs = nowUs + block.lengthUs;
  return block.untilUs > latestUs ? { ...block, untilUs: latestUs } : block;
}
