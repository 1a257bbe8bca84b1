import { MOST_LEASE_US, MOST_LENT_SHARE, MOST_LESSEES, ON_EDITS } from '#limiter';
import { KIND } from '../../lua/algorithms/index.js';

/** The numbers by which this process and the Lua scripts understand each other. Written here only: scripts get them by `--# include wire`. */

/** Added to the kind of a bucket. */
export const FLAG = {
  /** The bucket is bypassed if it has nothing left. */
  bypassed: 16,
  /** The limit was edited. */
  hasFormer: 32,
  /** The next bucket belongs to the same request. */
  more: 64,
  /** The former numbers follow. */
  formerFollow: 128,
} as const;

/** Added to the index of a key: when the numbers hold stands behind them; what the request has to leave does. A call has far fewer keys. */
export const INDEX = { timed: 32_768, leaving: 16_384 } as const;

/** In place of a kind: what stands behind it says how retries of the request are known. */
export const RETRY = { kind: 15, refundLength: 55, charged: 0, retried: 1, marked: 2 } as const;

/** The bounds of leases. */
const LEASE = { mostUs: MOST_LEASE_US, mostShare: MOST_LENT_SHARE, mostLessees: MOST_LESSEES } as const;

/** What stands in place of a first number: see lua/take.lua. A surplus of any limit is a number above these. */
export const SENTINEL = { stale: -9_000_000_000_000_000, again: -8_000_000_000_000_000, blocked: -1_000_000_000_000_000 } as const;

/** The same for Lua: each name in capitals, behind the name of its table. */
export function wireInLua(): string {
  const onEdit = Object.fromEntries(ON_EDITS.map((strategy, i) => [strategy, i]));
  return Object.entries({ kind: KIND, flag: FLAG, index: INDEX, retry: RETRY, lease: LEASE, sentinel: SENTINEL, on_edit: onEdit })
    .map(([table, numbers]) => {
      const entries = Object.entries(numbers).map(([name, value]) => `${capitals(name)} = ${value}`);
      return `local ${capitals(table)} = { ${entries.join(', ')} }`;
    })
    .join('\n');
}

function capitals(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').replace(/-/g, '_').toUpperCase();
}
