import { describedRequest, type DescriptorEntry, descriptorText } from '#envoy';
import { isVerdict } from '#enforcement';
import { isMerchantId, quotaWindowMs, type Limit, type Verdict } from '#limiter';
import type { HeadersOf } from '#edge';
import { type MadeDecision, refusalOfDecision } from '../decisions/decision.js';
import { type Decisions, PathRefusedError } from '../decisions/decisions.js';
import { field, GrpcCode, GrpcError } from '../grpc/grpc-error.js';
import { rulesUnavailable } from '../problems.js';
import { type LimitOverride, type LimitOverrides, OVERRIDE_HEADER } from './limit-overrides.js';
import { unitOfWindow, windowMsOf } from './units.js';

/** envoy.service.ratelimit.v3.RateLimitRequest, checked. */
export interface RateLimitCall {
  readonly domain: string;
  readonly descriptors: readonly CalledDescriptor[];
}

export interface CalledDescriptor {
  readonly entries: readonly DescriptorEntry[];
  /** 0 takes nothing. */
  readonly hits: number;
  /** Stands instead of what is configured for it. */
  readonly limit?: LimitOverride | undefined;
}

export type Code = 'OK' | 'OVER_LIMIT';

export interface DescriptorStatus {
  readonly code: Code;
  readonly currentLimit?: { readonly name: string; readonly requestsPerUnit: number; readonly unit: string };
  readonly limitRemaining: number;
  readonly untilResetMs?: number;
}

export interface RateLimitAnswer {
  readonly overallCode: Code;
  readonly statuses: readonly DescriptorStatus[];
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  /** For the client of a request that does not pass. */
  readonly body: string | undefined;
}

interface Asked {
  readonly decisions: Pick<Decisions, 'checkThen' | 'giveBack'>;
  readonly overrides: Pick<LimitOverrides, 'headerOf'>;
  readonly headersOf: HeadersOf;
  readonly requestId: string;
  /** Whether nobody waits for the answer any more. */
  readonly isOver: () => boolean;
}

/** A descriptor that no limit was asked about. */
const NO_LIMIT: DescriptorStatus = { code: 'OK', limitRemaining: 0 };
const REFUSED: DescriptorStatus = { code: 'OVER_LIMIT', limitRemaining: 0 };

/**
 * Decides about a call of Envoy's rate limit filter: each descriptor is a request, and the call passes if all of them do. Then all of them are charged; otherwise none
 * is. What waits its turn is answered when its turn has come. Calls back once, perhaps before it returns: with a ProblemError if nothing can be decided, so that what happens is for
 * Envoy's failure_mode_deny to say.
 *
 * @throws GrpcError if descriptors bring too many different limits
 */
export function rateLimit({ domain, descriptors }: RateLimitCall, asked: Asked, answer: (outcome: RateLimitAnswer | Error) => void): void {
  // All or none: what is thrown here has taken nothing.
  const own = descriptors.map(({ limit }) => limit && asked.overrides.headerOf(limit));
  const texts = descriptors.length > 1 ? descriptors.map(({ entries }) => descriptorText(domain, entries)) : NOTHING_BESIDE;
  const made: (Made | Error)[] = [];
  let open = descriptors.length;
  descriptors.forEach((descriptor, i) => {
    const beside = descriptors.length > 1 ? texts.filter((_, other) => other !== i) : NOTHING_BESIDE;
    decide(domain, descriptor, { beside, own: own[i] }, asked, (each) => {
      made[i] = each;
      if (--open === 0) answerAll(made, asked, answer);
    });
  });
}

const NOTHING_BESIDE: readonly string[] = [];

function answerAll(made: readonly (Made | Error)[], asked: Asked, answer: (outcome: RateLimitAnswer | Error) => void): void {
  const failure = made.find((each) => each instanceof Error);
  const decided = made.filter(isMade);
  const isUndecided = failure !== undefined || decided.some(({ outcome }) => !isVerdict(outcome));
  const isRefused = made.some((each) => each === 'refused' || (isMade(each) && !each.allowed));
  const over = (): void => {
    const givesBack = isUndecided || isRefused || asked.isOver();
    if (givesBack) for (const each of decided) asked.decisions.giveBack(each);
    answer(isUndecided ? (failure ?? rulesUnavailable()) : answerOrError(made, { isRefused, givesBack }, asked));
  };
  const waitMs = decided.reduce((most, each) => Math.max(most, each.waitMs), 0);
  // Envoy knows no other way to hold a request that waits its turn in a queue.
  if (waitMs > 0 && !isUndecided && !isRefused) setTimeout(over, waitMs);
  else over();
}

/** The enforcer calls back for others, too, so nothing is thrown at it. */
function answerOrError(
  made: readonly (Made | Error)[],
  { isRefused, givesBack }: { readonly isRefused: boolean; readonly givesBack: boolean },
  asked: Asked,
): RateLimitAnswer | Error {
  const decided = made.filter(isMade);
  try {
    return {
      overallCode: isRefused ? 'OVER_LIMIT' : 'OK',
      statuses: made.map((each) => (isMade(each) ? statusOf(each, givesBack) : each === 'refused' ? REFUSED : NO_LIMIT)),
      ...told(decided.length > 1 ? [...decided].sort(byUrgency)[0] : decided[0], asked),
    };
  } catch (error) {
    return error as Error;
  }
}

/** A decision; `refused` where the descriptor cannot be a request that passes; undefined where nobody has rules for it. */
type Made = MadeDecision | 'refused' | undefined;

function decide(
  domain: string,
  { entries, hits }: CalledDescriptor,
  { beside, own }: { readonly beside: readonly string[]; readonly own: string | undefined },
  { decisions, requestId }: Asked,
  answer: (made: Made | Error) => void,
): void {
  // The client's doing: after an error Envoy lets its request pass, unless it is told otherwise.
  if (entries.some(({ value }) => value.length > MOST_CHARACTERS)) return answer('refused');
  const described = describedRequest(domain, entries, beside);
  const request = own === undefined ? described : { ...described, headers: { ...described.headers, [OVERRIDE_HEADER]: own } };
  // Another merchant than there are has no way around its limits; a domain that nobody knows has none, as in envoyproxy/ratelimit.
  const unknown = request.merchant !== domain ? 'refused' : undefined;
  if (!isMerchantId(request.merchant)) return answer(unknown);
  try {
    decisions.checkThen({ ...request, cost: hits }, requestId, (decision) => {
      answer(isMade(decision) && decision.reason === 'unknown_merchant' ? unknown : decision);
    });
  } catch (error) {
    // Servers read such a path in different ways, so no rule can.
    answer(error instanceof PathRefusedError ? 'refused' : (error as Error));
  }
}

const isMade = (each: Made | Error): each is MadeDecision => typeof each === 'object' && !(each instanceof Error);

/** Those that refuse first, then those with the least left. */
function byUrgency(a: MadeDecision, b: MadeDecision): number {
  return Number(a.allowed) - Number(b.allowed) || (a.remaining ?? Infinity) - (b.remaining ?? Infinity) || 0;
}

function told(decision: MadeDecision | undefined, { headersOf, requestId }: Asked): Pick<RateLimitAnswer, 'headers' | 'body'> {
  if (decision === undefined) return { headers: [], body: undefined };
  if (decision.allowed) return { headers: decision.headers, body: undefined };
  const { status, headers, body } = refusalOfDecision(decision, requestId, headersOf);
  // Envoy says 429, whatever stands in the body.
  return status === 429 ? { headers: ['Content-Type', 'application/problem+json', ...headers], body } : { headers, body: undefined };
}

const MOST_UINT32 = 0xffff_ffff;

type Report = Verdict['limits'][number];

/** One that refuses, or that has less left. */
function isTighter({ decision: a }: Report, { decision: b }: Report): boolean {
  return a.allowed === b.allowed ? a.remaining < b.remaining : !a.allowed;
}

/** @param givenBack whether what it took is there again */
function statusOf({ allowed, outcome }: MadeDecision, givenBack: boolean): DescriptorStatus {
  const code = allowed ? 'OK' : 'OVER_LIMIT';
  const reports = isVerdict(outcome) ? outcome.limits : [];
  const tightest = reports.reduce<(typeof reports)[number] | undefined>(
    (least, each) => (least === undefined || isTighter(each, least) ? each : least),
    undefined,
  );
  if (tightest === undefined) return { code, limitRemaining: 0 };
  const { limit, decision, cost } = tightest;
  const remaining = decision.remaining + (allowed && givenBack ? cost : 0);
  return {
    code,
    currentLimit: { name: limit.name, requestsPerUnit: Math.min(decision.limit, MOST_UINT32), unit: unitOf(limit) },
    limitRemaining: Math.min(remaining, decision.limit, MOST_UINT32),
    untilResetMs: decision.resetAfterMs,
  };
}

const CALENDAR_UNITS = new Set(['minute', 'hour', 'day', 'week', 'month', 'year']);

/** The unit in which the whole limit comes back, if it is one. */
function unitOf(limit: Limit): string {
  if ('calendar' in limit && limit.calendar !== undefined && CALENDAR_UNITS.has(limit.calendar)) return limit.calendar.toUpperCase();
  return (limit.algorithm === 'concurrency' ? undefined : unitOfWindow(quotaWindowMs(limit))) ?? 'UNKNOWN';
}

/** What may be asked in one call: far more than Envoy sends. */
const MOST_DESCRIPTORS = 64;
const MOST_ENTRIES = 32;
const MOST_CHARACTERS = 8_192;
const MOST_HITS = 1_000_000_000;

/** @throws GrpcError */
export function demandRateLimitCall({ domain, descriptors }: RateLimitCall): void {
  if (domain === '') throw invalid('/domain', 'must be given');
  if (domain.length > MOST_CHARACTERS) throw invalid('/domain', `must be at most ${MOST_CHARACTERS} characters`);
  if (descriptors.length < 1 || descriptors.length > MOST_DESCRIPTORS)
    throw invalid('/descriptors', `must have 1 to ${MOST_DESCRIPTORS} items`);
  descriptors.forEach(({ entries, hits, limit }, i) => {
    if (limit !== undefined) demandOverride(limit, `/descriptors/${i}/limit`);
    if (entries.length < 1 || entries.length > MOST_ENTRIES)
      throw invalid(`/descriptors/${i}/entries`, `must have 1 to ${MOST_ENTRIES} items`);
    if (!(hits >= 0 && hits <= MOST_HITS)) throw invalid(`/descriptors/${i}/hits_addend`, `must be a whole number from 0 to ${MOST_HITS}`);
    if (entries.some(({ key }) => key === '')) throw invalid(`/descriptors/${i}/entries`, 'must have keys that are not empty');
    if (entries.some(({ key }) => key.length > MOST_CHARACTERS))
      throw invalid(`/descriptors/${i}/entries`, `must have keys of at most ${MOST_CHARACTERS} characters`);
  });
}

function demandOverride({ requestsPerUnit, unit }: LimitOverride, pointer: string): void {
  if (!(requestsPerUnit <= MOST_UINT32)) throw invalid(`${pointer}/requests_per_unit`, `must be a whole number from 0 to ${MOST_UINT32}`);
  if (windowMsOf(unit) === undefined) throw invalid(`${pointer}/unit`, 'must be a unit of time, like MINUTE');
}

export function invalid(pointer: string, detail: string): GrpcError {
  return new GrpcError(GrpcCode.InvalidArgument, `${pointer} ${detail}`, 'field.malformed', [field(pointer, detail)]);
}
