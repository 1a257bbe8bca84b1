/** The gRPC doors of the decision API on a socket, over rules and buckets in memory. */
import { createHash } from 'node:crypto';
import { createPathReader, createTrust, rateLimitHeaders } from '#edge';
import type { ClaimOutcome, Outcome } from '#enforcement';
import { merchantRules, MemoryBucketStore, NewerRulesError, RateLimiter, type Descriptor, type Rule, type Verdict } from '#limiter';
import { Health } from '#platform';
import { CallerLimit } from '../../../apps/decision-api/src/callers/caller-limit.js';
import { Callers } from '../../../apps/decision-api/src/callers/callers.js';
import type { CertifiedCallers } from '../../../apps/decision-api/src/callers/certified-callers.js';
import { Decisions } from '../../../apps/decision-api/src/decisions/decisions.js';
import { LimitOverrides } from '../../../apps/decision-api/src/envoy/limit-overrides.js';
import { GrpcDoors } from '../../../apps/decision-api/src/grpc/grpc-doors.js';
import type { ConnectionSilence } from '../../../apps/decision-api/src/http2/silence.js';
import type { TlsDoor } from '../../../apps/decision-api/src/tls/tls-door.js';

export const TOKEN = 'a-random-token-of-this-test-0123456789';

/** Whoever keeps the rules and buckets of a test. Time stands still unless a test moves it. */
export class MemoryEnforcer {
  readonly rules = new Map<string, readonly Rule[]>();
  defaults: readonly Rule[] = [];
  private ofProcess: readonly Rule[] = [];
  nowMs = 1_000;
  /** Verdicts by their claims. */
  private readonly claims = new Map<string, Verdict>();
  private limiter = this.newLimiter();

  /** Without rules, and with full buckets. */
  begin(): void {
    this.rules.clear();
    this.defaults = [];
    this.limiter = this.newLimiter();
  }

  private newLimiter(): RateLimiter {
    const store = new MemoryBucketStore(() => this.nowMs);
    return new RateLimiter(store, store, { nowMs: () => this.nowMs });
  }

  readonly rulesHere = (rules: readonly Rule[]): void => {
    this.ofProcess = rules;
  };

  check = (descriptor: Descriptor, answer: (outcome: Outcome) => void): void => this.checked(descriptor, answer);

  checked(descriptor: Descriptor, answer: (outcome: Outcome) => void): void {
    const { merchantId } = descriptor;
    const own = this.rules.get(merchantId);
    if (merchantId === 'unreadable') return answer({ allowed: false, reason: 'rules_unavailable' });
    if (own === undefined) return answer({ allowed: false, reason: 'unknown_merchant' });
    this.limiter.check(merchantRules(merchantId, own, [...this.defaults, ...this.ofProcess]), descriptor, (outcome) => {
      if (outcome instanceof NewerRulesError) throw outcome;
      answer(outcome);
    });
  }

  /** What is left of the first limit of a merchant. */
  levelOf(merchantId: string): number | undefined {
    let left: number | undefined;
    const descriptor = { merchantId, ip: '', method: '', target: '/', times: 0 };
    this.checked(descriptor, (outcome) => (left = (outcome as Verdict).limits[0]?.decision.remaining));
    return left;
  }

  readonly claim = (verdict: Verdict): Promise<string> => {
    const name = String(this.claims.size).padStart(22, '0');
    this.claims.set(name, verdict);
    return Promise.resolve(name);
  };

  readonly refundClaim = (name: string): Promise<ClaimOutcome> => {
    const verdict = this.claims.get(name);
    if (verdict === undefined) return Promise.resolve({ outcome: 'not_found' });
    this.claims.delete(name);
    for (const reservation of verdict.reservations) reservation.refund();
    return Promise.resolve({ outcome: 'refunded', given: 1, edited: 0, keys: [] });
  };

  readonly settleClaim = (name: string): Promise<ClaimOutcome> =>
    Promise.resolve(this.claims.delete(name) ? { outcome: 'settled', given: 0, edited: 0, keys: [] } : { outcome: 'not_found' });
}

export interface Doors {
  readonly port: number;
  readonly health: Health;
  /** What was logged as an error: nothing ever should be. */
  readonly errors: unknown[];
  /** Calls and the status that stood for their answers. */
  readonly counts: readonly string[];
  readonly doors: GrpcDoors;
}

export interface DoorsOptions {
  readonly maxInFlight?: number;
  readonly maxBufferedBytes?: number;
  readonly callerPerSecond?: number;
  readonly tls?: TlsDoor;
  readonly certified?: CertifiedCallers;
  readonly silence?: ConnectionSilence;
}

/** Whoever has the token may ask. */
export const tokenCallers = (certified?: CertifiedCallers): Callers =>
  new Callers([{ name: 'test', digest: createHash('sha256').update(TOKEN).digest() }], certified);

export async function openDoors(
  enforcer: MemoryEnforcer,
  { maxInFlight = 1_000, maxBufferedBytes = 64 * 1024 * 1024, callerPerSecond = 0, tls, certified, silence }: DoorsOptions = {},
): Promise<Doors> {
  const errors: unknown[] = [];
  const counts: string[] = [];
  const health = new Health();
  const decisionsOf = (policy: 'strict' | 'normalize') =>
    new Decisions({
      enforcer: enforcer as never,
      headersOf: rateLimitHeaders,
      readPath: createPathReader({ policy, exceptions: [] }),
      pathCaseSensitive: true,
      claimMs: 60_000,
    });
  const doors = new GrpcDoors({
    decisions: decisionsOf('strict'),
    strictDecisions: decisionsOf('strict'),
    callers: tokenCallers(certified),
    // Of a clock that stands still.
    limit: new CallerLimit(callerPerSecond, () => 1_000),
    headersOf: rateLimitHeaders,
    trusts: createTrust(['127.0.0.0/8']),
    overrides: new LimitOverrides(enforcer, () => enforcer.nowMs),
    health,
    logger: { error: (line: unknown) => errors.push(line) } as never,
    counts: { count: (call, status) => counts.push(`${call} ${status}`) },
    maxInFlight,
    maxConnections: 100,
    maxBufferedBytes,
    tls,
    silence,
  });
  return { port: await doors.listen(0, '127.0.0.1'), health, errors, counts, doors };
}
