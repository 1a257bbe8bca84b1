import { addUsage, MINUTE_MS, type MerchantUsage, type RuleUsage, type UsageBatch } from '#limiter-redis';

/** Rules of merchants that wait while Redis is away, and for how long: what is older would tell of another hour. */
const MOST_WAITING = 40_000;
const OLDEST_MS = 50 * MINUTE_MS;

export interface UsageFlushOptions {
  /** The name of this gateway. */
  readonly gateway: string;
  readonly take: () => MerchantUsage[];
  readonly send: (batch: UsageBatch, ageMs: number) => Promise<void>;
  readonly now: () => number;
  readonly mostWaiting?: number;
}

interface Waiting {
  atMs: number;
  rules: number;
  merchants: readonly MerchantUsage[];
  /** Once it was sent it stays as it is: Redis may have added it without saying so, and knows it by this number. */
  number: number | undefined;
}

/**
 * Carries counts to Redis. What could not be sent is kept, added up by minute, and sent again; when too much waits, the oldest is dropped and
 * counted. One flush runs at a time.
 */
export class UsageFlush {
  /** Requests whose counts were dropped, and flushes that failed, ever. */
  dropped = 0;
  failures = 0;
  private waiting: Waiting[] = [];
  private nextNumber = 1;
  private running: Promise<void> | undefined;
  private readonly mostWaiting: number;

  constructor(private readonly options: UsageFlushOptions) {
    this.mostWaiting = options.mostWaiting ?? MOST_WAITING;
  }

  /** Never rejects. */
  flush(): Promise<void> {
    this.collect();
    this.running ??= this.sendAll().finally(() => (this.running = undefined));
    return this.running;
  }

  private collect(): void {
    const merchants = this.options.take();
    const nowMs = this.options.now();
    if (merchants.length > 0) this.append(merchants, nowMs);
    let rules = this.waiting.reduce((sum, each) => sum + each.rules, 0);
    while (this.waiting.length > 0 && (rules > this.mostWaiting || nowMs - this.waiting[0]!.atMs > OLDEST_MS)) {
      const oldest = this.waiting.shift()!;
      rules -= oldest.rules;
      for (const { rules: some } of oldest.merchants) for (const { passed, refused } of some) this.dropped += passed + refused;
    }
  }

  private append(merchants: readonly MerchantUsage[], atMs: number): void {
    const last = this.waiting.at(-1);
    if (last !== undefined && last.number === undefined && Math.floor(last.atMs / MINUTE_MS) === Math.floor(atMs / MINUTE_MS)) {
      last.merchants = added(last.merchants, merchants);
      last.rules = rulesOf(last.merchants);
    } else {
      this.waiting.push({ atMs, merchants, rules: rulesOf(merchants), number: undefined });
    }
  }

  private async sendAll(): Promise<void> {
    const { gateway, send, now } = this.options;
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      const { merchants } = first;
      if (first.number === undefined) {
        first.number = this.nextNumber;
        // More calls than merchants are never made.
        this.nextNumber += merchants.length;
      }
      try {
        await send({ gateway, number: first.number, merchants }, Math.max(0, now() - first.atMs));
      } catch {
        this.failures++;
        return;
      }
      if (this.waiting[0] === first) this.waiting.shift();
    }
  }
}

function added(one: readonly MerchantUsage[], another: readonly MerchantUsage[]): MerchantUsage[] {
  const merchants = new Map<string, Map<string, RuleUsage>>();
  for (const { merchantId, rules } of [...one, ...another]) {
    const ofMerchant = merchants.get(merchantId) ?? new Map<string, RuleUsage>();
    merchants.set(merchantId, ofMerchant);
    for (const usage of rules) {
      const before = ofMerchant.get(usage.ruleId);
      if (before === undefined) ofMerchant.set(usage.ruleId, { ...usage });
      else addUsage(before, usage);
    }
  }
  return [...merchants].map(([merchantId, rules]) => ({ merchantId, rules: [...rules.values()] }));
}

function rulesOf(merchants: readonly MerchantUsage[]): number {
  return merchants.reduce((sum, { rules }) => sum + rules.length, 0);
}
