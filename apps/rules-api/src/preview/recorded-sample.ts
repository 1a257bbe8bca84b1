import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalField, fieldsIn, namesMethod, pathMatcher, pathSegments, type Rule } from '#limiter';
import type { DecisionReceipt, ReceiptSample, ReceiptsBefore, UsageStep } from '../buckets/live-reports.js';
import { badBody } from '../http/validation.pipe.js';
import { MinuteCounts } from './minute-counts.js';
import { IN_CLEAR, recordedRequest, type RecordedRequest } from './recorded-request.js';
import { type WeighedSample, weighedSample } from './weighed-sample.js';

/** What gateways have told of their decisions. */
export interface Records {
  nowMs(): Promise<number>;
  receiptsBefore(cursor: string | undefined, merchantId: string): Promise<ReceiptsBefore>;
  usageOf(merchantIds: readonly string[], fromMs: number, untilMs: number): Promise<Map<string, UsageStep[]>>;
}

export interface RecordedSample extends WeighedSample {
  /** Recorded requests that cannot be replayed: their paths are longer than what is recorded of one. */
  readonly leftOut: number;
}

/** All of them are in memory at once. */
export const MOST_REQUESTS = 200_000;
/** A search for the receipts of one merchant passes those of all others. Milliseconds. */
const READING_MS = 3_000;
const KEPT_MS = 86_400_000;
const CHECKS_AT_ONCE = 5_000;

/**
 * What is recorded of a merchant's traffic, from the newest request back as far as it can be replayed.
 * @param rules those that are going to look at it
 * @throws ProblemError 400 if nothing is recorded, or not what these rules look at; 503
 */
export async function recordedSample(
  records: Records,
  merchantId: string,
  rules: readonly Rule[],
  { mostRequests = MOST_REQUESTS, endAtMs = performance.now() + READING_MS }: { mostRequests?: number; endAtMs?: number } = {},
): Promise<RecordedSample> {
  const enabled = rules.filter((rule) => rule.enabled);
  const nowMs = await records.nowMs();
  const collected = new Collected(enabled.some(tellsByHash), mostRequests);
  let page: ReceiptsBefore = { items: [], cursor: undefined };
  do {
    page = await records.receiptsBefore(page.cursor, merchantId);
    // Of another time than the last day nothing is kept: what stands there was not written by us.
    for (const receipt of page.items) if (Math.abs(nowMs - receipt.atMs) <= KEPT_MS) collected.add(receipt);
  } while (!collected.isFull && page.cursor !== undefined && performance.now() < endAtMs);
  const recorded = collected.requests.sort((a, b) => a.atMs - b.atMs);
  if (recorded.length === 0) throw badSample('not_recorded', nothingRecorded(collected.leftOut));
  await demandKnown(enabled, recorded);
  const steps = await records.usageOf([merchantId], recorded[0]!.atMs - KEPT_MS / 24, recorded.at(-1)!.atMs + KEPT_MS / 24);
  const sample = weighedSample(recorded, new MinuteCounts(steps.get(merchantId) ?? []), { mostRequests, nowMs });
  if (sample.rows.length === 0)
    throw badSample('too_thin', `each recorded request stands for more than the ${mostRequests} that are replayed`);
  return { ...sample, leftOut: collected.leftOut };
}

/** Receipts, the newest first. */
class Collected {
  readonly requests: RecordedRequest[] = [];
  leftOut = 0;
  private weight = 0;
  /** A gateway of a version that did not say what a replay needs has written this one. */
  private isOlder = false;
  private hasOtherKey = false;
  private hashedWith: string | undefined;

  constructor(
    private readonly comparesHashes: boolean,
    private readonly mostRequests: number,
  ) {}

  get isFull(): boolean {
    return this.isOlder || this.weight > this.mostRequests;
  }

  add(receipt: DecisionReceipt): void {
    if (receipt.sample === undefined) this.isOlder = true;
    if (receipt.sample === undefined || this.isFull || this.isBehindOtherKey(receipt.sample)) return;
    if (receipt.pathIsCut) {
      this.leftOut++;
      return;
    }
    this.requests.push(recordedRequest(receipt, receipt.sample));
    this.weight += receipt.sample.oneIn;
  }

  /** Of a gateway before its start, so that the sample begins with the start, or of another one beside it: who is who cannot be said across both. */
  private isBehindOtherKey({ hashedWith }: ReceiptSample): boolean {
    this.hashedWith ??= hashedWith;
    if (!this.comparesHashes) return false;
    if (hashedWith !== this.hashedWith) this.hasOtherKey = true;
    else if (this.hasOtherKey) throw badSample('hashes_differ', HASHES_DIFFER);
    return this.hasOtherKey;
  }
}

const HASHES_DIFFER =
  'rules tell clients apart by what is recorded as hashes, and gateways made them with different keys; set the same RECEIPT_HASH_KEY in each gateway';

function nothingRecorded(leftOut: number): string {
  if (leftOut > 0) return `the paths of all ${leftOut} recorded requests of this merchant are longer than what is recorded of one`;
  return 'gateways have recorded no request of this merchant within the last day, or not what a replay needs; send a sample as CSV';
}

/** Whether requests are told apart by anything that is recorded as a hash. */
function tellsByHash({ key }: Rule): boolean {
  return key.some((part) => !IN_CLEAR.has(canonicalField(part)));
}

/** A rule that looks at what is not recorded would be judged as if requests did not have it. */
async function demandKnown(rules: readonly Rule[], recorded: readonly RecordedRequest[]): Promise<void> {
  let checks = 0;
  for (const rule of rules) {
    const unseen = fieldsLookedAt(rule).find((field) => !IN_CLEAR.has(field));
    const parts = rule.key.map(canonicalField);
    if (unseen === undefined && recorded.every(({ known }) => parts.every((part) => known.has(part)))) continue;
    const concerns = matcherOf(rule);
    for (const request of recorded) {
      if (++checks % CHECKS_AT_ONCE === 0) await nextTurn();
      const unknown = unseen ?? parts.find((part) => !request.known.has(part));
      if (unknown !== undefined && concerns(request)) throw fieldNotRecorded(rule, unknown);
    }
  }
}

/** By conditions, the cost and the charge. Bodies and answers are never recorded. */
function fieldsLookedAt({ match, cost, charge, onUnreadableBody }: Rule): string[] {
  const fields = fieldsIn(match.all ?? []).map(canonicalField);
  if (typeof cost === 'object') fields.push(canonicalField(cost.field));
  if (charge?.on === 'response') fields.push(...fieldsIn([charge.when]));
  if (onUnreadableBody === 'refuse') fields.push('body');
  return fields;
}

function matcherOf({ match: { methods, paths } }: Rule): (request: RecordedRequest) => boolean {
  const matchers = paths.map((path) => pathMatcher(path));
  return ({ method, path, descriptor: { ignorePathCase = false } }) => {
    if (!namesMethod(methods, method)) return false;
    const segments = pathSegments(path, ignorePathCase);
    return matchers.length === 0 || matchers.some((matches) => matches(segments, ignorePathCase));
  };
}

function fieldNotRecorded({ name }: Rule, field: string): Error {
  const detail = `cannot be judged by recorded requests: the rule ${JSON.stringify(name)} looks at ${field}, which is not recorded of all of those that it concerns`;
  return badSample('field_not_recorded', detail);
}

function badSample(reason: string, detail: string): Error {
  return badBody([{ pointer: '/sample', code: `preview.sample.${reason}`, detail }]);
}
