import type { RedisConnection } from '../connection/redis-connection.js';
import { limitEventText, parseLimitEvent, type LimitEvent, type LimitEventKind, type NewLimitEvent } from './limit-event-format.js';
import { namingAt, LIMIT_EVENTS_KEY, LIMIT_EVENTS_WANTED_KEY, limitEventShareKey, limitEventToldKey } from '../redis-keys.js';
import { Script } from '../scripts.js';
import type { Unreadable } from '../stored.js';

const script = new Script('add-limit-events');

/** Of one limit of a merchant's rule, one kind is told once in so many milliseconds. */
const LIMIT_EVENT_INTERVAL_MS = 3_600_000;
/** Events of one merchant in that time. */
const LIMIT_EVENTS_PER_MERCHANT = 100;
/** Events that wait in Redis, of all merchants together. */
const MOST_LIMIT_EVENTS = 10_000;

/** Events in one call: it holds takes up for less than a millisecond. */
const AT_ONCE = 50;
/** Nothing is noted any more when nobody has said for so long that it is wanted. */
const WANTED_TTL_MS = 120_000;

export interface LimitEventBounds {
  readonly waiting: number;
  readonly perMerchant: number;
  readonly intervalMs: number;
}

const BOUNDS: LimitEventBounds = {
  waiting: MOST_LIMIT_EVENTS,
  perMerchant: LIMIT_EVENTS_PER_MERCHANT,
  intervalMs: LIMIT_EVENT_INTERVAL_MS,
};

/** What became of events that were to be noted; of the others somebody was told before, or nobody wants to be told. */
export interface NotedLimitEvents {
  readonly noted: number;
  /** Their merchants had too many already. */
  readonly beyondShare: number;
  /** Too many waited. */
  readonly noRoom: number;
}

/** An event that waits, or what stands there in place of one. */
export interface WaitingLimitEvent {
  /** Its place in the stream. */
  readonly id: string;
  /** Undefined: it cannot be read. */
  readonly event: LimitEvent | undefined;
}

/** Limits that are nearly or wholly used, noted in Redis for those who want to be told. All methods reject with ioredis' error when Redis is away. */
export class RedisLimitEventStore {
  private readonly named: (key: string) => string;
  private readonly stream: string;
  private readonly wanted: string;

  /** @param onUnreadable told of what waits there and is no event that this version can read */
  constructor(
    private readonly redis: RedisConnection,
    private readonly onUnreadable: (what: Pick<Unreadable, 'reason' | 'detail'>) => void = () => {},
    private readonly bounds = BOUNDS,
  ) {
    const named = namingAt(redis);
    this.named = (key) => named('events', key);
    this.stream = this.named(LIMIT_EVENTS_KEY);
    this.wanted = this.named(LIMIT_EVENTS_WANTED_KEY);
  }

  /** Says of which kinds somebody wants to be told; it has to be said again before two minutes have passed. */
  async want(kinds: readonly LimitEventKind[]): Promise<void> {
    if (kinds.length === 0) await this.redis.del(this.wanted);
    else await this.redis.set(this.wanted, kinds.join(' '), 'PX', WANTED_TTL_MS);
  }

  /** Notes events, as far as somebody wants to be told and was not told before. If it rejects, some may have been noted. */
  async add(events: readonly NewLimitEvent[]): Promise<NotedLimitEvents> {
    const sum = { noted: 0, beyondShare: 0, noRoom: 0 };
    for (let from = 0; from < events.length; from += AT_ONCE) {
      const [noted, beyondShare, noRoom] = await this.addSome(events.slice(from, from + AT_ONCE));
      // Nobody wants to be told: nothing else has to be sent.
      if (noted < 0) break;
      sum.noted += noted;
      sum.beyondShare += beyondShare;
      sum.noRoom += noRoom;
    }
    return sum;
  }

  /** Those that have waited longest. They wait on until they are removed. */
  async oldest(count: number): Promise<WaitingLimitEvent[]> {
    const entries = await this.redis.xrange(this.stream, '-', '+', 'COUNT', count).catch(nothingOfOtherType);
    return entries.map(([id, fields]) => {
      const event = parseLimitEvent(fields);
      if ('value' in event) return { id, event: event.value };
      this.onUnreadable(event);
      return { id, event: undefined };
    });
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.redis.xdel(this.stream, ...ids);
  }

  private async addSome(events: readonly NewLimitEvent[]): Promise<[noted: number, beyondShare: number, noRoom: number]> {
    const keys = [this.wanted, this.stream];
    const { waiting, perMerchant, intervalMs } = this.bounds;
    const args = [String(intervalMs), String(waiting), String(perMerchant)];
    for (const event of events) {
      const { kind, merchantId, ruleId, limitId, ageMs } = event;
      keys.push(this.named(limitEventToldKey(merchantId, ruleId, limitId, kind)), this.named(limitEventShareKey(merchantId)));
      args.push(kind, merchantId, String(Math.round(ageMs)), limitEventText(event));
    }
    return (await script.run(this.redis, keys, args)) as [number, number, number];
  }
}

/** What somebody else has put there counts as nothing; whoever notes the next event replaces it. */
function nothingOfOtherType(error: unknown): [string, string[]][] {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return [];
  throw error;
}
