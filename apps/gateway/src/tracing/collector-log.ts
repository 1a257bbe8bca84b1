import type { Logger } from '#platform';

/** So long nothing may have failed until the collector counts as back, and a reason is told again. Milliseconds. */
const QUIET_MS = 60_000;
/** The collector may write what it likes there. */
const MOST_CHARACTERS = 200;

/** Says in the log why the collector takes no spans: each reason once, and when it has taken them for a minute. */
export class CollectorLog {
  /** Codes of HTTP, of the network and of the exporter, so there are few. */
  private readonly told = new Set<string>();
  private failedMs = 0;

  constructor(
    private readonly logger: Pick<Logger, 'warn' | 'info'>,
    private readonly collector: string,
  ) {}

  failed(error: Error & { code?: string | number }, nowMs: number): void {
    this.failedMs = nowMs;
    const reason = String(error.code ?? error.message);
    if (this.told.has(reason)) return;
    this.told.add(reason);
    const { collector } = this;
    this.logger.warn({ collector, code: error.code, reason: error.message.slice(0, MOST_CHARACTERS) }, 'the collector takes no traces');
  }

  took(nowMs: number): void {
    if (this.told.size === 0 || nowMs - this.failedMs < QUIET_MS) return;
    this.told.clear();
    this.logger.info({ collector: this.collector }, 'the collector takes traces again');
  }
}
