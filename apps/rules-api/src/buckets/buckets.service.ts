import { Inject, Injectable } from '@nestjs/common';
import {
  type BucketOperation,
  type BucketReading,
  escapedPointer,
  type Fault,
  InvalidOperationError,
  isAddressField,
  type KeyPart,
  NewerRulesError,
  OperationNotPossibleError,
  StoreUnavailableError,
} from '#limiter';
import { ProblemError } from '#platform';
import { type Actor, type AuditAction, AuditRepository, MerchantNotFoundError, RuleReader } from '#rules-db';
import { CONCERNS_OTHERS, forbidden } from '../auth/forbidden.js';
import { badBody } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type {
  AdjustBucketDto,
  BlockBucketDto,
  BucketQueryDto,
  BucketsChanged,
  BucketView,
  ResetBucketsDto,
  UnblockBucketDto,
} from './bucket.dto.js';
import { changedBuckets, viewOf } from './bucket-views.js';
import { auditedParts, KeyValues, writtenParts } from './key-values.js';
import { LiveBuckets } from './live-buckets.js';
import { bucketsOfMerchant, isShared, type NamedBucket } from './merchant-buckets.js';

/** To which a bearer is limited; null: all. */
type Merchants = readonly string[] | null;

/** Which page of a merchant's buckets, and the parts of their keys that no merchant has by itself. */
interface PageQuery {
  readonly size: number;
  readonly cursor?: string | undefined;
  readonly ip?: string | undefined;
  readonly method?: string | undefined;
  readonly key?: string | undefined;
}

const LIST = 'buckets';
/** A reset of more than so many buckets at once would keep Redis and the audit busy. */
const MOST_AT_ONCE = 200;

const READ: BucketOperation = { kind: 'read' };

const ACTIONS: Record<Exclude<BucketOperation['kind'], 'read'>, AuditAction> = {
  reset: 'bucket.reset',
  adjust: 'bucket.adjusted',
  block: 'bucket.blocked',
  unblock: 'bucket.unblocked',
};

/** The live buckets of a merchant: what they hold now, and corrections by hand. */
@Injectable()
export class BucketsService {
  constructor(
    @Inject(RuleReader) private readonly rules: RuleReader,
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(LiveBuckets) private readonly live: LiveBuckets,
  ) {}

  async list(merchantId: string, query: BucketQueryDto): Promise<Page<BucketView>> {
    return this.page(merchantId, query, ({ rule }) => query.ruleId === undefined || rule.id === query.ruleId, viewOf);
  }

  /** The buckets for which `concerns` holds, as `show` shows each with what it holds now; nothing if it cannot be read without more of its key. */
  async page<T>(
    merchantId: string,
    { size, cursor, ip, method, key }: PageQuery,
    concerns: (named: NamedBucket) => boolean,
    show: (named: NamedBucket, reading: BucketReading | undefined) => T,
  ): Promise<Page<T>> {
    const all = (await this.named(merchantId, new KeyValues({ ip, method, key: writtenParts(key) }))).filter(concerns);
    const from = cursor === undefined ? 0 : placeAfter(all, decodeCursor(LIST, cursor, isPlace));
    const rows = all.slice(from, from + size + 1);
    const read = await Promise.all(rows.slice(0, size).map(async (named) => show(named, await this.readingNow(named))));
    const { nextCursor } = toPage(
      rows,
      size,
      () => null,
      ({ rule, limit }) => encodeCursor(LIST, [rule.id, limit.id]),
    );
    return { items: read, nextCursor };
  }

  async reset(merchantId: string, body: ResetBucketsDto, by: Actor, among: Merchants): Promise<BucketsChanged> {
    return this.change(merchantId, body, { kind: 'reset' }, by, among);
  }

  async adjust(merchantId: string, { tokens, ...body }: AdjustBucketDto, by: Actor, among: Merchants): Promise<BucketsChanged> {
    return this.change(merchantId, body, { kind: 'adjust', tokens }, by, among);
  }

  async block(merchantId: string, { forMs, ...body }: BlockBucketDto, by: Actor, among: Merchants): Promise<BucketsChanged> {
    return this.change(merchantId, body, { kind: 'block', forMs }, by, among);
  }

  async unblock(merchantId: string, body: UnblockBucketDto, by: Actor, among: Merchants): Promise<BucketsChanged> {
    return this.change(merchantId, body, { kind: 'unblock' }, by, among);
  }

  /** Carries it out on the buckets that the body names, together with a row of the audit: nothing is done that is not written down. */
  private async change(
    merchantId: string,
    body: ResetBucketsDto,
    operation: Exclude<BucketOperation, { kind: 'read' }>,
    by: Actor,
    among: Merchants,
  ): Promise<BucketsChanged> {
    const { ruleId, limit, ip, method, key } = body;
    const values = new KeyValues({ ip, method, key });
    demandOnce(body);
    const chosen = (await this.named(merchantId, values))
      .filter((named) => (ruleId === undefined ? !isShared(named) : named.rule.id === ruleId))
      .filter((named) => limit === undefined || named.limit.name === limit);
    demandSome(chosen, body);
    demandParts(chosen);
    if (among !== null && chosen.some(isShared)) throw forbidden(CONCERNS_OTHERS);
    const after = { ...body, ...(key !== undefined && { key: auditedParts(key) }), ...operation };
    const change = { merchantId, ...(ruleId !== undefined && { ruleId }), action: ACTIONS[operation.kind], before: null, after };
    const changed = await this.audit.recordWith({ ...change, by }, async () => {
      // Side by side: while this runs, nobody else can write to the audit.
      return changedBuckets(chosen, await Promise.allSettled(chosen.map((named) => this.asked(named, operation))));
    });
    await this.live.tellGateways(merchantId);
    return changed;
  }

  private async named(merchantId: string, values: KeyValues): Promise<NamedBucket[]> {
    this.live.demandConfigured();
    const snapshot = await this.rules.snapshot(merchantId);
    if (!snapshot?.exists) throw new MerchantNotFoundError(merchantId);
    const { rules: defaults } = await this.rules.defaultRules();
    const plan = snapshot.plan === undefined ? undefined : await this.rules.plan(snapshot.plan);
    return bucketsOfMerchant(
      { merchantId, timeZone: snapshot.timeZone, own: snapshot.rules, plan: plan?.rules ?? [], defaults, overrides: snapshot.overrides },
      values,
      this.live.nowMs,
    );
  }

  private async readingNow(named: NamedBucket): Promise<BucketReading | undefined> {
    return named.key === undefined ? undefined : this.asked(named, READ);
  }

  private async asked({ key, bucket }: NamedBucket, operation: BucketOperation): Promise<BucketReading> {
    try {
      return await this.live.operate(key!, bucket, operation);
    } catch (error) {
      throw this.problemOf(error) ?? error;
    }
  }

  private problemOf(error: unknown): ProblemError | undefined {
    if (error instanceof InvalidOperationError)
      return badBody([{ pointer: `/${error.field}`, code: `bucket.${error.field}.out_of_range`, detail: error.message }]);
    if (error instanceof OperationNotPossibleError)
      return new ProblemError({ status: 409, code: 'bucket.operation_not_possible', detail: error.message });
    if (error instanceof NewerRulesError) return this.live.unavailable('the bucket was written under newer rules; ask again');
    if (error instanceof StoreUnavailableError)
      return this.live.unavailable(`${error.message}; whether it was done is unknown, so read the buckets before you ask again`);
    return undefined;
  }
}

function demandSome(chosen: readonly NamedBucket[], { ruleId, limit }: ResetBucketsDto): void {
  if (chosen.length === 0) {
    const what = ruleId === undefined ? { pointer: '/limit', value: limit } : { pointer: '/ruleId', value: ruleId };
    throw badBody([
      {
        pointer: what.pointer,
        code: 'bucket.not_found',
        detail: `names no bucket of an enabled rule of this merchant, got ${JSON.stringify(what.value)}`,
      },
    ]);
  }
  if (chosen.length > MOST_AT_ONCE) {
    throw badBody([
      {
        pointer: '/ruleId',
        code: 'bucket.ruleId.missing',
        detail: `must be given: ${chosen.length} buckets are concerned, and at most ${MOST_AT_ONCE} are changed at once`,
      },
    ]);
  }
}

/** Two values for one part would leave open which of them counts. */
function demandOnce({ ip, method, key = {} }: ResetBucketsDto): void {
  const twice = Object.entries({ ip, method }).find(([part, value]) => value !== undefined && Object.hasOwn(key, part));
  if (twice === undefined) return;
  throw badBody([{ pointer: `/key/${twice[0]}`, code: 'bucket.key.repeated', detail: `is given beside ${twice[0]}` }]);
}

/** Each part has to be told, absence too: else a misspelt one would name the bucket of requests without it. */
function demandParts(chosen: readonly NamedBucket[]): void {
  const [needed] = chosen.flatMap(({ needs }) => needs);
  if (needed !== undefined) throw badBody([missingPart(needed)]);
  const unnamed = chosen.find(({ key }) => key === undefined);
  if (unnamed !== undefined) {
    const detail = `no bucket can be named here by the key of the rule ${JSON.stringify(unnamed.rule.name)}`;
    throw badBody([{ pointer: '/ruleId', code: 'bucket.key.not_nameable', detail }]);
  }
}

function missingPart(part: KeyPart): Fault {
  const field = isAddressField(part) ? 'ip' : part;
  const detail = `must be given, because the key of the rule has ${part}`;
  return field === 'ip' || field === 'method'
    ? { pointer: `/${field}`, code: `bucket.${field}.missing`, detail }
    : { pointer: `/key/${escapedPointer(part)}`, code: 'bucket.key.missing', detail: `${detail}; null stands for a request without it` };
}

/** Where the page begins: behind the named bucket, or, if it is gone, at the end of what came before it. */
function placeAfter(all: readonly NamedBucket[], [ruleId, limitId]: [string, number]): number {
  const at = all.findIndex(({ rule, limit }) => rule.id === ruleId && limit.id === limitId);
  return at < 0 ? all.length : at + 1;
}

function isPlace(values: readonly unknown[]): values is [string, number] {
  const [ruleId, limitId] = values;
  return values.length === 2 && typeof ruleId === 'string' && /^[1-9]\d{0,18}$/.test(ruleId) && Number.isSafeInteger(limitId);
}
