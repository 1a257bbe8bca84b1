import { escaped } from '#limiter';
import type { TopKeyRank } from './records/top-key-format.js';

/**
 * Every name that Tollgate uses in Redis. Buckets are named by `bucketKey` of the limiter, so that all stores agree on
 * what one bucket is; here they get their prefix.
 */
export const BUCKET_PREFIX = 'tg:';

/**
 * The name of a key whose script names others beside it that are not of the same merchant: in a cluster they lie together, by a tag. On a single Redis, and
 * where a Sentinel group is, names have always been without.
 */
export type Naming = (tag: string, key: string) => string;

export function namingAt({ isCluster }: { readonly isCluster: boolean }): Naming {
  return isCluster ? (tag, key) => `tg:{:${tag}}${key.slice(BUCKET_PREFIX.length - 1).replace(/[{}]/g, '')}` : (_tag, key) => key;
}

/**
 * The name of a bucket in a cluster. That of a merchant is the same, because it has the merchant in braces. Of a bucket that merchants share, what stands
 * in braces is empty, which counts as none: `{}<rule>.<limit><values>` becomes `{:<rule><values>}<limit>`, so that all limits of a rule lie together,
 * and those of different addresses, say, anywhere. No merchant's id begins with an unescaped colon.
 */
export function clusterBucketKey(key: string): string {
  if (!key.startsWith('{}')) return key;
  const values = key.indexOf(':') < 0 ? '' : key.slice(key.indexOf(':'));
  const [rule, limit] = key.slice(2, key.length - values.length).split('.');
  return `{:${rule}${values}}${limit}`;
}

/**
 * The name of a request's mark in a cluster, or of their counter. Marks of requests whose first bucket is shared would lie anywhere: they lie with the
 * buckets of their merchant, whose id follows behind the braces.
 */
export function clusterMarkKey(key: string): string {
  return key.startsWith('{}:') ? `{${key.slice(3, key.indexOf(':', 3))}}${key.slice(2)}` : key;
}

export const DEFAULT_RULES_KEY = 'tg:default-rules';

/** The rules of a plan. Names of plans are letters, digits and hyphens. */
export function planKey(plan: string): string {
  return `tg:plan:${plan}`;
}

/** A hash of counters that grow when the rules of a merchant change: see ChangeFeed. */
export const CHANGE_COUNTERS_KEY = 'tg:changes';

/** A hash of what each gateway forwards: see platform-load.ts. */
export const PLATFORM_LOAD_KEY = 'tg:load';

/** The merchants whose rules a gateway that starts will need first: see busy-merchants.ts. */
export const BUSY_MERCHANTS_KEY = 'tg:busy';

/** Where changes are announced as they happen: a merchant id, nothing for the default rules, or a plan. */
export const CHANGES_CHANNEL = 'tg:changes';

/** A hash of what became of a merchant's requests in one hour, by rule: see usage-format.ts. The hour counts from 1970; '' is for what is counted for nobody. */
export function usageKey(merchantId: string, hour: number): string {
  return `tg:u:{${escaped(merchantId)}}:${hour}`;
}

/** In a cluster, numbers of merchants lie in so many slots, each with ranks of its own: all of one would be one server's. */
export const USAGE_PARTS: readonly string[] = Array.from({ length: 16 }, (_, part) => `u${part}`);

/** The tag of a merchant's numbers in a cluster. */
export function usagePart(merchantId: string): string {
  return USAGE_PARTS[fnv1a(merchantId) % USAGE_PARTS.length]!;
}

/** Sorted sets of the rules of merchants that refused most in an hour, and whose buckets were nearly empty. */
export function usageRankKey(rank: 'refused' | 'near', hour: number): string {
  return `tg:u:${rank}:${hour}`;
}

/** The number of the last counts that a gateway has added, so that none are added twice. */
export function usageSeenKey(gateway: string): string {
  return `tg:u:seen:${gateway}`;
}

/** Sorted sets of the keys of rules, like one address, that asked most in an hour, and that were refused most: see top-key-store.ts. */
export function topKeysKey(rank: TopKeyRank, hour: number): string {
  return `tg:{k}:${rank}:${hour}`;
}

/** What a decision took, to be given back by whoever knows its name: see claim-store.ts. */
export function claimKey(name: string): string {
  return `tg:c:${name}`;
}

/** A stream of receipts of decisions, and the hash that finds them by the id of a request: see receipt-store.ts. */
export const RECEIPTS_KEY = 'tg:receipts';
export const RECEIPT_IDS_KEY = 'tg:receipts:ids';

/** How many receipts of a merchant may still be written: see add-receipts.lua. '' is for ids that no merchant has. */
export function receiptShareKey(merchantId: string): string {
  return `tg:receipts:share:{${escaped(merchantId)}}`;
}

/** A stream of limits that are nearly or wholly used, and which of that somebody wants to be told of: see limit-event-store.ts. */
export const LIMIT_EVENTS_KEY = 'tg:e';
export const LIMIT_EVENTS_WANTED_KEY = 'tg:e:wanted';

/** Is there while nobody has to be told again of a limit. */
export function limitEventToldKey(merchantId: string, ruleId: string, limitId: number, kind: string): string {
  return `tg:e:{${escaped(merchantId)}}:${ruleId}.${limitId}:${kind}`;
}

/** How many events of a merchant were noted lately. */
export function limitEventShareKey(merchantId: string): string {
  return `tg:e:share:{${escaped(merchantId)}}`;
}

export function snapshotKey(merchantId: string): string {
  return `tg:s:{${escaped(merchantId)}}`;
}

/** Which of the counters grows with a merchant. Few enough to be read whole, many enough to tell most merchants apart. */
export function changeCounterOf(merchantId: string | null): string {
  return merchantId === null ? DEFAULT_RULES_COUNTER : String(fnv1a(merchantId) % CHANGE_COUNTERS);
}

export const DEFAULT_RULES_COUNTER = 'default';
/** One for all plans: there are few, and each is read once for all of its merchants. */
export const PLANS_COUNTER = 'plans';
const CHANGE_COUNTERS = 1024;

/** Whether a field of the hash is one of them. */
export function isChangeCounter(field: string): boolean {
  return (
    field === DEFAULT_RULES_COUNTER || field === PLANS_COUNTER || (/^(0|[1-9]\d{0,3})$/.test(field) && Number(field) < CHANGE_COUNTERS)
  );
}

/** FNV-1a over UTF-16 code units (Fowler, Noll, Vo). */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
