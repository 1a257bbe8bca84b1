import type { NewLimitEvent, NotedLimitEvents } from '#limiter-redis';
import type { KeySpikes } from './key-spikes.js';
import { limitEventOf, type LimitNotes } from './limit-notes.js';

export interface LimitEventsOptions {
  readonly notes: LimitNotes;
  readonly spikes?: Pick<KeySpikes, 'take'>;
  readonly send: (events: readonly NewLimitEvent[]) => Promise<NotedLimitEvents>;
  readonly now: () => number;
}

/** Carries notes of limits to Redis. What could not be sent is sent with the next flush: Redis knows of what it was told before. */
export class LimitEvents {
  /** Flushes that failed, ever. */
  failures = 0;
  private beyondShare = 0;
  private noRoom = 0;

  constructor(private readonly options: LimitEventsOptions) {}

  /** Notes that nobody is told of, by the bound that they met. */
  get dropped(): Readonly<Record<'too_many' | 'too_old' | 'merchant_share' | 'queue_full', number>> {
    return { ...this.options.notes.dropped, merchant_share: this.beyondShare, queue_full: this.noRoom };
  }

  /** Never rejects. */
  async flush(): Promise<void> {
    const { notes, send, now, spikes } = this.options;
    for (const spike of spikes?.take() ?? []) notes.add(spike);
    const taken = notes.take();
    if (taken.length === 0) return;
    const nowMs = now();
    try {
      const { beyondShare, noRoom } = await send(taken.map((note) => limitEventOf(note, nowMs)));
      this.beyondShare += beyondShare;
      this.noRoom += noRoom;
    } catch {
      this.failures++;
      notes.putBack(taken);
    }
  }
}
