import { isMerchantId } from '#limiter';
import { bySlot } from '../connection/by-slot.js';
import { LONGEST_LIFE_MS } from '../buckets/overlong-keys.js';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';
import { namingAt, usageKey, usagePart, usageRankKey, usageSeenKey, USAGE_PARTS, type Naming } from '../redis-keys.js';
import { Script } from '../scripts.js';
import {
  HOUR_MS,
  MINUTE_MS,
  NO_RULE,
  OTHER_MERCHANT,
  OTHER_RULE,
  parseUsage,
  USAGE_KEPT_MS,
  type MerchantUsage,
  type UsageStep,
} from './usage-format.js';

const script = new Script('add-usage');

/** Until the last minute of the hour has been kept for a day, and a bit. */
const TTL_SECONDS = (USAGE_KEPT_MS + 2 * HOUR_MS) / 1000;
/** Longer than a gateway keeps counts that it could not add. */
const SEEN_TTL_SECONDS = 2 * 3600;
/** Rules in one call: it holds takes up for less than a millisecond. */
const RULES_AT_ONCE = 100;

/** Counts that a gateway adds. */
export interface UsageBatch {
  /** The name of the gateway. */
  readonly gateway: string;
  /** Larger than that of any batch before by at least the number of merchants in that batch. A batch that is sent again has the same number. */
  readonly number: number;
  readonly merchants: readonly MerchantUsage[];
}

/** What became of requests, in Redis. All methods reject with ioredis' error when Redis is away. */
export class RedisUsageStore {
  private readonly named: Naming;
  private latestMs = 0;

  /** @param onStepBack told when the clock of the server has stepped back by more than any key lives */
  constructor(
    private readonly redis: RedisConnection,
    private readonly onStepBack: () => void = () => {},
  ) {
    this.named = namingAt(redis);
  }

  /** What time it is at the server. Milliseconds. */
  async nowMs(): Promise<number> {
    return millisOf(await this.redis.time());
  }

  /**
   * Adds counts to the minute that it was at the server `ageMs` ago, and does no harm if they were added before. A few short calls, one after the
   * other, so that takes of other gateways come in between. Where a gateway's own clock stands makes no difference.
   */
  async add({ gateway, number, merchants }: UsageBatch, ageMs: number): Promise<void> {
    const nowMs = await this.nowMs();
    if (nowMs < this.latestMs - LONGEST_LIFE_MS) this.onStepBack();
    this.latestMs = nowMs;
    const minute = Math.floor((nowMs - ageMs) / MINUTE_MS);
    const parts = bySlot(this.redis, merchants, ({ merchantId }) => this.named(usagePart(merchantId), ''));
    for (const [i, some] of parts.flatMap(callsOf).entries()) await this.addSome(gateway, number + i, minute, some);
  }

  private async addSome(gateway: string, number: number, minute: number, merchants: readonly MerchantUsage[]): Promise<void> {
    const hour = Math.floor(minute / 60);
    const part = usagePart(merchants[0]!.merchantId);
    const keys = [usageSeenKey(gateway), usageRankKey('refused', hour), usageRankKey('near', hour)].map((key) => this.named(part, key));
    const args = [String(number), String(minute % 60), String(TTL_SECONDS), String(SEEN_TTL_SECONDS)];
    for (const { merchantId, rules } of merchants) {
      keys.push(this.keyOf(merchantId, hour));
      args.push(merchantId, String(rules.length));
      for (const { ruleId, passed, refused, shadowRefused, leastPercent } of rules)
        args.push(ruleId, String(passed), String(refused), String(shadowRefused), String(leastPercent));
    }
    await script.run(this.redis, keys, args);
  }

  /** What became of the requests of some merchants from one moment to another, by merchant, each in the order of time. */
  async read(merchantIds: readonly string[], fromMs: number, untilMs: number): Promise<Map<string, UsageStep[]>> {
    const hours = hoursOf(fromMs, untilMs);
    // In the order in which they were asked for, whichever server answers first.
    const found = await Promise.all(
      merchantIds.map(async (merchantId): Promise<[string, UsageStep[]]> => {
        const steps = await Promise.all(hours.map(async (hour) => parseUsage(await this.hash(this.keyOf(merchantId, hour)), hour)));
        const within = steps.flat().filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
        return [merchantId, within.sort((a, b) => a.atMs - b.atMs || compareIds(a.ruleId, b.ruleId))];
      }),
    );
    return new Map(found);
  }

  /** What became of the requests under some rules of merchants from one moment to another, by their places, each in the order of time. */
  async readRules(rules: readonly RankedRule[], fromMs: number, untilMs: number): Promise<UsageStep[][]> {
    const hours = hoursOf(fromMs, untilMs);
    const found: UsageStep[][] = [];
    const size = Math.max(1, Math.floor(READ_AT_ONCE / Math.max(1, hours.length)));
    // Some after the other, so that neither Redis nor this process is held up by them.
    for (let at = 0; at < rules.length; at += size) {
      const some = rules.slice(at, at + size).map(async (rule) => {
        const steps = (await Promise.all(hours.map((hour) => this.hourOf(rule, hour)))).flat();
        return steps.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).sort((a, b) => a.atMs - b.atMs);
      });
      found.push(...(await Promise.all(some)));
    }
    return found;
  }

  /**
   * What became of the requests under a rule within the last day, in one round trip. Undefined if the clock of the server is far from that of this process:
   * then other hours would have to be asked for.
   */
  async lastDay(rule: RankedRule, ownMs: number): Promise<LastDay | undefined> {
    const hours = hoursOf(ownMs - USAGE_KEPT_MS - HOUR_MS, ownMs + HOUR_MS);
    const asked = hours.flatMap((hour) => [
      this.fields(this.keyOf(rule.merchantId, hour), [rule.ruleId, NO_RULE, OTHER_RULE]),
      this.fields(this.keyOf(OTHER_MERCHANT, hour), [NO_RULE]),
    ]);
    // All are sent at once, also where they lie on different servers.
    const [untilMs, ...texts] = await Promise.all([this.nowMs(), ...asked]);
    if (Math.abs(untilMs - ownMs) > HOUR_MS) return undefined;
    const fromMs = untilMs - USAGE_KEPT_MS;
    const within = (ruleId: string, place: (hour: number) => string | null | undefined): UsageStep[] =>
      hours
        .flatMap((hour, i) => stepsIn(ruleId, place(i) ?? null, hour))
        .filter(({ atMs }) => atMs > fromMs - MINUTE_MS && atMs <= untilMs);
    const uncounted = [
      within(NO_RULE, (i) => texts[2 * i]![1]),
      within(OTHER_RULE, (i) => texts[2 * i]![2]),
      within(NO_RULE, (i) => texts[2 * i + 1]![0]),
    ];
    const steps = within(rule.ruleId, (i) => texts[2 * i]![0]).sort((a, b) => a.atMs - b.atMs);
    return { fromMs, untilMs, steps, hasUncounted: uncounted.flat().length > 0 };
  }

  private fields(key: string, names: readonly string[]): Promise<(string | null)[]> {
    return this.redis.hmget(key, ...names).catch(ofOtherType<(string | null)[]>([]));
  }

  private async hourOf({ merchantId, ruleId }: RankedRule, hour: number): Promise<UsageStep[]> {
    return stepsIn(ruleId, await this.redis.hget(this.keyOf(merchantId, hour), ruleId).catch(ofOtherType(null)), hour);
  }

  /** What was counted for nobody, because it was beyond the bounds of the counters. */
  async readOther(fromMs: number, untilMs: number): Promise<UsageStep[]> {
    return (await this.read([OTHER_MERCHANT], fromMs, untilMs)).get(OTHER_MERCHANT)!;
  }

  /** The rules of merchants that probably come first, best first; exact numbers are those of `read`. */
  async ranked(rank: 'refused' | 'near', fromMs: number, untilMs: number, most: number): Promise<RankedRule[]> {
    const hours = hoursOf(fromMs, untilMs);
    const parts = isCluster(this.redis) ? USAGE_PARTS : [''];
    const lists = await Promise.all(parts.flatMap((part) => hours.map((hour) => this.ranks(this.named(part, usageRankKey(rank, hour))))));
    const scores = new Map<string, number>();
    for (const [member, score] of lists.flat()) {
      const before = scores.get(member);
      scores.set(member, before === undefined ? score : rank === 'refused' ? before + score : Math.min(before, score));
    }
    const sorted = [...scores].sort(([, a], [, b]) => (rank === 'refused' ? b - a : a - b));
    return sorted.flatMap(([member]) => rankedRule(member)).slice(0, most);
  }

  private async ranks(key: string): Promise<[string, number][]> {
    const flat = await this.redis.zrange(key, 0, String(MOST_RANKED - 1), 'WITHSCORES').catch(ofOtherType([]));
    return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, Number(flat[2 * i + 1])]);
  }

  private keyOf(merchantId: string, hour: number): string {
    return this.named(usagePart(merchantId), usageKey(merchantId, hour));
  }

  private async hash(key: string): Promise<Record<string, string>> {
    return this.redis.hgetall(key).catch(ofOtherType({}));
  }
}

/** A rule of a merchant in a rank. */
export interface RankedRule {
  readonly merchantId: string;
  readonly ruleId: string;
}

/** What became of the requests under a rule. */
export interface LastDay {
  /** By the clock of the server. Milliseconds. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** In the order of time; the first one may have begun a little earlier. */
  readonly steps: readonly UsageStep[];
  /** Whether requests of the merchant were asked no rule, or there was no room for the numbers of anybody. */
  readonly hasUncounted: boolean;
}

/** Hours of rules that are asked for together. */
const READ_AT_ONCE = 400;

/** More than the script lets a rank have. */
const MOST_RANKED = 2000;

function stepsIn(ruleId: string, text: string | null, hour: number): UsageStep[] {
  return text === null ? [] : parseUsage({ [ruleId]: text }, hour);
}

function millisOf([seconds, micros]: readonly (string | number)[]): number {
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

function rankedRule(member: string): RankedRule[] {
  const space = member.lastIndexOf(' ');
  const merchantId = member.slice(0, Math.max(0, space));
  return isMerchantId(merchantId) ? [{ merchantId, ruleId: member.slice(space + 1) }] : [];
}

/** The calls in which counts of one part are added. */
function callsOf(merchants: readonly MerchantUsage[]): MerchantUsage[][] {
  const calls: MerchantUsage[][] = [];
  let rules = RULES_AT_ONCE;
  for (const merchant of merchants) {
    if (rules >= RULES_AT_ONCE) {
      calls.push([]);
      rules = 0;
    }
    calls.at(-1)!.push(merchant);
    rules += merchant.rules.length;
  }
  return calls;
}

function hoursOf(fromMs: number, untilMs: number): number[] {
  const first = Math.floor(fromMs / HOUR_MS);
  const last = Math.ceil(untilMs / HOUR_MS) - 1;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}

function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** What somebody else has put at a key counts as nothing. */
function ofOtherType<T>(nothing: T) {
  return (error: unknown): T => {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return nothing;
    throw error;
  };
}
