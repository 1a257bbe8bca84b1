import type { StoredKind, Unreadable, UnreadableReason } from '#limiter-redis';
import type { EnforcerLogger } from '../enforcer-options.js';
import { Counter, type Registry } from 'prom-client';
import { SaidOnce } from './said-once.js';

const MEANINGS: Record<UnreadableReason, string> = {
  malformed: 'it is not what should stand there',
  newer_format: 'a newer version of Tollgate has written it: update this gateway',
  implausible_version: 'its version counts more edits than there can be',
  too_large: 'it is too large',
  wrong_type: 'the key has another type',
};

export interface IgnoredMessagesOptions {
  readonly logger: Pick<EnforcerLogger, 'warn'>;
  readonly registry: Registry;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

/** What was read from Redis and not believed: each kind said once, and all of it counted. */
export class IgnoredMessages {
  private readonly seen = new Map<`${StoredKind} ${UnreadableReason}`, { kind: StoredKind; reason: UnreadableReason; count: number }>();
  private readonly said = new SaidOnce<string>();
  private readonly now: () => number;

  constructor(private readonly options: IgnoredMessagesOptions) {
    this.now = options.now ?? (() => performance.now());
    const { seen } = this;
    new Counter({
      name: 'tollgate_ignored_messages_total',
      help: 'Things read from Redis that were ignored, by what they should have been and why.',
      labelNames: ['kind', 'reason'],
      registers: [options.registry],
      collect() {
        this.reset();
        for (const { kind, reason, count } of seen.values()) this.inc({ kind, reason }, count);
      },
    });
  }

  readonly add = ({ kind, reason, detail }: Unreadable): void => {
    const name = `${kind} ${reason}` as const;
    this.seen.set(name, { kind, reason, count: (this.seen.get(name)?.count ?? 0) + 1 });
    if (this.said.isNews(name, this.now()))
      this.options.logger.warn({ kind, reason, detail }, `something in Redis is ignored: ${MEANINGS[reason]}`);
  };
}
