import type { RedisConnection } from '../connection/redis-connection.js';
import { parseReceipt, receiptText, type DecisionReceipt, type NewReceipt } from './receipt-format.js';
import { namingAt, RECEIPT_IDS_KEY, RECEIPTS_KEY, receiptShareKey } from '../redis-keys.js';
import { Script } from '../scripts.js';
import type { Unreadable } from '../stored.js';

const script = new Script('add-receipts');

const RECEIPTS_KEPT_MS = 86_400_000;

/** Receipts in one call: it holds takes up for less than a millisecond. */
const AT_ONCE = 20;

/** Entries that one question looks at, and reads in one piece: who asks goes on from where it ended. */
const MOST_LOOKED_AT = 2000;
const READ_AT_ONCE = 200;

export interface ReceiptBounds {
  /** Receipts that are kept, of all merchants together. */
  readonly most: number;
  /** Receipts of one merchant in a minute, from all gateways together. */
  readonly perMinute: number;
}

/** Whose receipts may be seen: those of a list, or of all (null), or whoever is chosen among the merchants of some receipts. */
export type SeenMerchants = readonly string[] | null | ((merchantIds: readonly string[]) => Promise<readonly string[]>);

/** Which receipts are wanted. */
export interface ReceiptFilter {
  readonly merchants: SeenMerchants;
  /** Undefined: whether it passed or not. */
  readonly allowed?: boolean | undefined;
}

export interface ReceiptPage {
  /** The oldest first. */
  readonly items: readonly DecisionReceipt[];
  /** Behind what was looked at. */
  readonly cursor: string;
  /** Whether there was more to look at. */
  readonly more: boolean;
}

export interface ReceiptsBefore {
  readonly items: readonly DecisionReceipt[];
  readonly cursor: string | undefined;
}

const START = '0-0';
const CURSOR = /^\d{1,16}-\d{1,16}$/;

/** Whether a text has the form of a place in the stream. */
export function isReceiptCursor(text: string): boolean {
  return CURSOR.test(text);
}

type Entry = [id: string, fields: string[]];

/** Receipts of decisions, in Redis. All methods reject with ioredis' error when Redis is away. */
export class RedisReceiptStore {
  private readonly named: (key: string) => string;
  private readonly stream: string;
  private readonly ids: string;

  /** @param onUnreadable told of what stands there and is no receipt that this version can read */
  constructor(
    private readonly redis: RedisConnection,
    private readonly onUnreadable: (what: Pick<Unreadable, 'reason' | 'detail'>) => void = () => {},
  ) {
    const named = namingAt(redis);
    this.named = (key) => named('receipts', key);
    this.stream = this.named(RECEIPTS_KEY);
    this.ids = this.named(RECEIPT_IDS_KEY);
  }

  /** Writes receipts down, as far as their merchants have room. Answers how many it wrote. If it rejects, some may have been written. */
  async add(receipts: readonly NewReceipt[], { most, perMinute }: ReceiptBounds): Promise<number> {
    let written = 0;
    for (let from = 0; from < receipts.length; from += AT_ONCE) {
      const keys = [this.stream, this.ids];
      const owners = new Map<string, string>();
      const args = [String(most), String(RECEIPTS_KEPT_MS), String(perMinute)];
      for (const receipt of receipts.slice(from, from + AT_ONCE)) {
        const { merchantId, requestId, allowed, ageMs, isKnownMerchant } = receipt;
        const owner = isKnownMerchant ? merchantId : '';
        if (!owners.has(owner)) owners.set(owner, String(keys.push(this.named(receiptShareKey(owner)))));
        args.push(owners.get(owner)!, merchantId, requestId, allowed ? '1' : '0', String(Math.round(ageMs)), receiptText(receipt));
      }
      written += Number(await script.run(this.redis, keys, args));
    }
    return written;
  }

  /** The newest receipt of a request. Clients may choose the ids of their requests, so other merchants may have one with the same. */
  async find(requestId: string, merchants: SeenMerchants): Promise<DecisionReceipt | undefined> {
    const ids = (await this.redis.hget(this.ids, requestId).catch(nothingOfOtherType))?.split(' ').filter(isReceiptCursor) ?? [];
    for (const id of ids.slice(-MOST_OF_AN_ID).reverse()) {
      const [receipt] = await seen(this.readable(await this.range(id, id, 1)), merchants);
      if (receipt?.requestId === requestId) return receipt;
    }
    return undefined;
  }

  /** What came after a place, up to `limit` receipts. */
  async after(cursor: string, limit: number, filter: ReceiptFilter): Promise<ReceiptPage> {
    const items: DecisionReceipt[] = [];
    let at = cursor;
    for (let looked = 0; looked < MOST_LOOKED_AT; looked += READ_AT_ONCE) {
      const entries = await this.range(behind(at), '+', READ_AT_ONCE);
      const wanted = await this.wanted(entries, filter);
      for (const [id] of entries) {
        if (items.length >= limit) return { items, cursor: at, more: true };
        at = id;
        const receipt = wanted.get(id);
        if (receipt !== undefined) items.push(receipt);
      }
      if (entries.length < READ_AT_ONCE) return { items, cursor: at, more: false };
    }
    return { items, cursor: at, more: true };
  }

  /** The newest receipts, up to `limit`, as far back as one question looks. */
  async newest(limit: number, filter: ReceiptFilter): Promise<ReceiptPage> {
    const items: DecisionReceipt[] = [];
    let before = '+';
    let cursor: string | undefined;
    for (let looked = 0; looked < MOST_LOOKED_AT && items.length < limit; looked += READ_AT_ONCE) {
      const entries = (await this.redis.xrevrange(this.stream, before, '-', 'COUNT', READ_AT_ONCE).catch(nothingOfOtherType)) ?? [];
      cursor ??= entries[0]?.[0];
      items.push(...(await this.wanted(entries, filter)).values());
      if (entries.length < READ_AT_ONCE) break;
      before = beforeId(entries.at(-1)![0]);
    }
    return { items: items.slice(0, limit).reverse(), cursor: cursor ?? START, more: false };
  }

  /** The receipts of a merchant among the entries before a place, the newest first, and where to go on; undefined: at the newest, or nowhere. */
  async before(cursor: string | undefined, merchantId: string): Promise<ReceiptsBefore> {
    const from = cursor === undefined ? '+' : beforeId(cursor);
    const entries = (await this.redis.xrevrange(this.stream, from, '-', 'COUNT', READ_AT_ONCE).catch(nothingOfOtherType)) ?? [];
    // Those of others need not be taken apart.
    const its = entries.filter(([, fields]) => fields.some((value, i) => i % 2 === 1 && fields[i - 1] === 'm' && value === merchantId));
    const items = this.readable(its).filter((receipt) => receipt.merchantId === merchantId);
    return { items, cursor: entries.length < READ_AT_ONCE ? undefined : entries.at(-1)![0] };
  }

  private async range(from: string, to: string, count: number): Promise<Entry[]> {
    return (await this.redis.xrange(this.stream, from, to, 'COUNT', count).catch(nothingOfOtherType)) ?? [];
  }

  /** By the ids of their entries, in their order. */
  private async wanted(entries: readonly Entry[], { merchants, allowed }: ReceiptFilter): Promise<Map<string, DecisionReceipt>> {
    const receipts = new Map(entries.flatMap((entry) => this.readable([entry]).map((receipt) => [entry[0], receipt] as const)));
    const ofThem = [...receipts.values()].filter((receipt) => allowed === undefined || receipt.allowed === allowed);
    const chosen = new Set(await seen(ofThem, merchants));
    return new Map([...receipts].filter(([, receipt]) => chosen.has(receipt)));
  }

  private readable(entries: readonly Entry[]): DecisionReceipt[] {
    return entries.flatMap(([, fields]) => {
      const receipt = parseReceipt(fields);
      if ('value' in receipt) return [receipt.value];
      this.onUnreadable(receipt);
      return [];
    });
  }
}

async function seen(receipts: readonly DecisionReceipt[], merchants: SeenMerchants): Promise<readonly DecisionReceipt[]> {
  if (merchants === null || receipts.length === 0) return receipts;
  const ids = typeof merchants === 'function' ? await merchants([...new Set(receipts.map(({ merchantId }) => merchantId))]) : merchants;
  return receipts.filter(({ merchantId }) => ids.includes(merchantId));
}

/** The next possible id of an entry. Redis 6.0 knows no ranges without their ends. */
function behind(id: string): string {
  const [ms, sequence] = id.split('-');
  return `${ms}-${BigInt(sequence!) + 1n}`;
}

/** The last possible id before that of an entry. */
function beforeId(id: string): string {
  const [ms, sequence] = id.split('-').map(BigInt) as [bigint, bigint];
  return sequence > 0n ? `${ms}-${sequence - 1n}` : String(ms > 0n ? ms - 1n : 0n);
}

/** As many as the script keeps. */
const MOST_OF_AN_ID = 4;

/** What somebody else has put at a key counts as nothing. */
function nothingOfOtherType(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return null;
  throw error;
}
