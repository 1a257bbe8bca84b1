import { createHash } from 'node:crypto';
import { canonicalField, type Descriptor, describedBy } from '#limiter';
import type { DecisionReceipt, ReceiptSample } from '../buckets/live-reports.js';

/** A request that a gateway has recorded, as rules can look at it once more. */
export interface RecordedRequest {
  readonly atMs: number;
  readonly allowed: boolean;
  readonly method: string;
  readonly path: string;
  /** The hash of the address. */
  readonly ip: string | undefined;
  /** One in so many like it is recorded. */
  readonly oneIn: number;
  readonly hashedWith: string;
  /** Parts of keys of which is known what the request had there, or that it had nothing. */
  readonly known: ReadonlySet<string>;
  /** The rules that were asked; those that refused it if it was refused. */
  readonly ruleIds: readonly string[];
  readonly descriptor: Omit<Descriptor, 'merchantId'>;
}

/** In clear in every receipt. */
export const IN_CLEAR: ReadonlySet<string> = new Set(['merchant', 'method', 'path']);
/** As a hash in every receipt. */
const OF_CLIENT = ['ip', 'ip.prefix', 'user', 'apiKey'];

/** @param sample of the receipt */
export function recordedRequest(receipt: DecisionReceipt, { oneIn, client, hashedWith }: ReceiptSample): RecordedRequest {
  const { atMs, allowed, method, path, ignorePathCase, limits, merchantId } = receipt;
  const asked = limits.flatMap(({ key }) => Object.entries(key)).map(([part, value]) => [canonicalField(part), value] as const);
  const parts = asked.filter(([part]) => !IN_CLEAR.has(part) && !OF_CLIENT.includes(part));
  const { ip, 'ip.prefix': prefix = ip, ...others } = client;
  // Nothing stands there for what the request did not have. A colon would end the name of a host.
  const hashes = [...Object.entries(others), ...parts]
    .filter(([, hash]) => hash !== '')
    .map(([part, hash]) => [part, hash.replace(':', '-')]);
  const address = ip === undefined ? {} : { ip: addressFor(ip, prefix!) };
  const refusing = limits.filter((limit) => allowed || !limit.allowed);
  return {
    atMs,
    allowed,
    method,
    path,
    ip,
    oneIn,
    hashedWith,
    known: new Set([...IN_CLEAR, ...OF_CLIENT, ...parts.map(([part]) => part)]),
    ruleIds: [...new Set(refusing.map(({ ruleId }) => ruleId))],
    descriptor: {
      ...describedBy(merchantId, { ...(Object.fromEntries(hashes) as Record<string, string>), ...address, method, path }),
      ignorePathCase,
    },
  };
}

/** An address that stands for one of which only hashes are known: one for each, in one network for each network. */
function addressFor(hash: string, hashOfPrefix: string): string {
  const half = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
  return (half(hashOfPrefix) + half(hash)).match(/.{4}/g)!.join(':');
}
