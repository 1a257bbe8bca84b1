import { createHmac } from 'node:crypto';
import { decisionsBefore, type Decision, type Descriptor, keyPartOf, type LimitReport, type Verdict } from '#limiter';
import { MOST_PATH_CHARACTERS, MOST_RECEIPT_LIMITS, type NewReceipt, type ReceiptLimit } from '#limiter-redis';
import { isVerdict } from '../outcome.js';
import { hashedKeyOf, personalHash } from './personal-hash.js';
import type { NotedDecision } from './receipt-queue.js';

export interface ReceiptContext {
  readonly nowMs: number;
  readonly isMerchant: (merchantId: string) => boolean;
  /** With which personal parts of bucket keys are hashed. */
  readonly secret: string;
  /** Of how many requests that passed one gets a receipt. */
  readonly passedOneIn: number;
}

/** What is written down of a decision. */
export function receiptOf(
  { requestId, descriptor, outcome, atMs }: NotedDecision,
  { nowMs, isMerchant, secret, passedOneIn }: ReceiptContext,
): NewReceipt {
  const { merchantId, method, target, ignorePathCase = false } = descriptor;
  const path = target.split('?', 1)[0]!;
  return {
    requestId,
    merchantId,
    isKnownMerchant: isMerchant(merchantId),
    ageMs: Math.max(0, nowMs - atMs),
    allowed: outcome.allowed,
    method,
    path: path.slice(0, MOST_PATH_CHARACTERS),
    pathIsCut: path.length > MOST_PATH_CHARACTERS,
    ignorePathCase,
    reason: outcome.reason,
    ...(isVerdict(outcome)
      ? {
          source: outcome.source,
          retryAfterMs: typeof outcome.retryAfterMs === 'number' ? outcome.retryAfterMs : null,
          limits: limitsOf(outcome, descriptor, secret),
          ...(outcome.reroutedTo !== undefined && { reroutedTo: outcome.reroutedTo }),
        }
      : { source: 'none', retryAfterMs: null, limits: [] }),
    sample: {
      oneIn: outcome.allowed && outcome.reason !== 'rerouted' ? Math.max(1, passedOneIn) : 1,
      client: clientOf(descriptor, secret),
      hashedWith: nameOfKey(secret),
    },
  };
}

const CLIENT_FIELDS = ['ip', 'ip.prefix', 'user', 'apiKey'] as const;

/** Rules that are tried later may tell clients apart that today's rules do not. */
function clientOf(descriptor: Descriptor, secret: string): Record<string, string> {
  const values = CLIENT_FIELDS.map((field) => [field, keyPartOf(descriptor, field)] as const);
  return Object.fromEntries(
    values.flatMap(([field, value]) =>
      value === undefined || (field === 'ip.prefix' && value === descriptor.ip) ? [] : [[field, personalHash(value, secret)]],
    ),
  );
}

const NAME_CHARACTERS = 8;
let named: { readonly secret: string; readonly name: string } | undefined;

/** Tells keys apart without giving them away. A process has one. */
function nameOfKey(secret: string): string {
  if (named?.secret !== secret) {
    named = { secret, name: createHmac('sha256', secret).update('the name of this key').digest('base64url').slice(0, NAME_CHARACTERS) };
  }
  return named.name;
}

function limitsOf(verdict: Verdict, descriptor: Descriptor, secret: string): ReceiptLimit[] {
  const before = decisionsBefore(verdict);
  const all = verdict.limits.map((report, i) => limitOf(report, verdict, before?.[i], descriptor, secret));
  return [...all.filter(({ allowed }) => !allowed), ...all.filter(({ allowed }) => allowed)].slice(0, MOST_RECEIPT_LIMITS);
}

function limitOf(
  { ruleId, rule, limit, cost, decision }: LimitReport,
  { reason, source }: Verdict,
  before: Decision | undefined,
  descriptor: Descriptor,
  secret: string,
): ReceiptLimit {
  // A refusal takes nothing, so what is there was there.
  const remainingBefore = reason === 'allowed' ? (source === 'local' ? undefined : before?.remaining) : decision.remaining;
  return {
    ruleId,
    rule: rule.name,
    limit: limit.name,
    generation: limit.generation,
    allowed: decision.allowed,
    capacity: Math.floor(decision.limit),
    cost: Math.ceil(cost),
    remainingBefore: remainingBefore ?? null,
    remainingAfter: decision.remaining,
    retryAfterMs: decision.retryAfterMs === 'never' ? null : Math.ceil(decision.retryAfterMs),
    key: hashedKeyOf(rule, descriptor, secret),
  };
}
