import { isMerchantId, isPlainObject, isPlanName, MERCHANT_ID_MAX_LENGTH, UnreadableError } from '#limiter';
import { reconnect, type RedisConnection } from '../connection/redis-connection.js';
import {
  CHANGES_CHANNEL,
  CHANGE_COUNTERS_KEY,
  DEFAULT_RULES_COUNTER,
  PLANS_COUNTER,
  changeCounterOf,
  isChangeCounter,
} from '../redis-keys.js';
import { parsed, type OnUnreadable, type Parsed } from '../stored.js';

export interface ChangeListener {
  /** The rules of this merchant changed, or the default rules if null. */
  changed(merchantId: string | null): void;
  /** The rules of this plan changed, or those of some plans if null. */
  plansChanged(plan: string | null): void;
  /** The rules of some merchants changed: those that this holds for. `defaults` if the default rules did as well. */
  changedSome(concerns: (merchantId: string) => boolean, defaults: boolean): void;
}

/**
 * Learns of rule changes. Messages come at once but may be lost; therefore the change counters are compared at every
 * poll, and whatever differs from the last time has changed, message or not; after the first comparison that is everything.
 * A Redis that lost its data shows as counters that went back, which is a difference too. Counters are also compared as soon as a connection is
 * there, the first one or a new one.
 */
export class ChangeFeed {
  private counters: ReadonlyMap<string, string> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private polling = false;
  private comparedAtMs = performance.now();
  private hasAnswered!: () => void;
  /** Resolves when Redis has answered once: rules that are read after that are not read again for the sake of the first comparison. */
  readonly firstAnswer = new Promise<void>((resolve) => (this.hasAnswered = resolve));

  constructor(
    private readonly redis: RedisConnection,
    private readonly subscriber: RedisConnection,
    private readonly listener: ChangeListener,
    private readonly pollEveryMs = 1000,
    private readonly onUnreadable: OnUnreadable = () => {},
  ) {}

  /** Since the counters were compared last; before the first comparison since there is this feed. Milliseconds. */
  get ageMs(): number {
    return performance.now() - this.comparedAtMs;
  }

  async start(): Promise<void> {
    this.subscriber.on('message', (_channel: string, message: string) => this.heard(message));
    // Subscribes when Redis is there; until then, and whenever it is not, polling has to do.
    this.subscriber.subscribe(CHANGES_CHANNEL).catch(() => {});
    // A subscriber writes nothing, so a server that became a replica, or that nobody publishes to any more, never tells it.
    this.redis.on('close', this.follow);
    this.redis.on('ready', this.look);
    // Of a cluster a single node ends, and it may be the one that the subscriber listens to.
    this.redis.on('-node', this.follow);
    await this.poll();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.redis.off('close', this.follow);
    this.redis.off('ready', this.look);
    this.redis.off('-node', this.follow);
  }

  /** Anybody who reaches Redis can publish: what is no message of ours is ignored, and the counters are compared all the same. */
  private heard(message: string): void {
    const change = parseChange(message);
    if (!('value' in change)) this.onUnreadable({ kind: 'change', ...change });
    else if (change.value !== null && typeof change.value === 'object') this.listener.plansChanged(change.value.plan);
    else this.listener.changed(change.value);
  }

  private readonly follow = (): void => reconnect(this.subscriber);

  private readonly look = (): void => void this.poll();

  private async poll(): Promise<void> {
    // One that is under way on a connection that broke fails before the next connection is there.
    if (this.polling) return;
    this.polling = true;
    clearTimeout(this.timer);
    try {
      this.compare(parseChangeCounters(await this.redis.hgetall(CHANGE_COUNTERS_KEY)));
      this.hasAnswered();
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('WRONGTYPE')) {
        this.onUnreadable({ kind: 'change_counters', reason: 'wrong_type', detail: 'not a hash' });
        this.hasAnswered();
      }
      // Otherwise Redis is away, or has not answered before the connection's deadline: whatever changes meanwhile will show in the next comparison.
    }
    this.polling = false;
    if (!this.stopped) this.timer = setTimeout(this.look, this.pollEveryMs);
  }

  private compare(counters: ReadonlyMap<string, string>): void {
    const before = this.counters;
    this.comparedAtMs = performance.now();
    this.counters = counters;
    // Nothing to compare with: what was read until now may have been read before a change whose message nobody heard.
    if (before === undefined) {
      this.listener.plansChanged(null);
      return this.listener.changedSome(() => true, true);
    }
    const different = new Set<string>();
    for (const counter of [...before.keys(), ...counters.keys()]) {
      if (before.get(counter) !== counters.get(counter)) different.add(counter);
    }
    if (different.delete(PLANS_COUNTER)) this.listener.plansChanged(null);
    if (different.size === 0) return;
    const defaults = different.delete(DEFAULT_RULES_COUNTER);
    this.listener.changedSome((merchantId) => different.has(changeCounterOf(merchantId)), defaults);
  }
}

const MOST_MESSAGE_CHARACTERS = 6 * MERCHANT_ID_MAX_LENGTH + 2;

/** Never throws. A merchant's id, null for the default rules, or a plan. */
export function parseChange(message: string): Parsed<string | null | { readonly plan: string }> {
  return parsed(message, MOST_MESSAGE_CHARACTERS, (value) => {
    if (isPlainObject(value) && isPlanName(value['plan'])) return { plan: value['plan'] };
    if (value !== null && !isMerchantId(value)) throw new UnreadableError('must be the id of a merchant, null or a plan');
    return value;
  });
}

/** Never throws. The counters as they stand, whatever else is in the hash. */
export function parseChangeCounters(fields: Readonly<Record<string, unknown>>): Map<string, string> {
  const counters = new Map<string, string>();
  for (const [name, count] of Object.entries(fields)) {
    if (isChangeCounter(name)) counters.set(name, String(count));
  }
  return counters;
}
