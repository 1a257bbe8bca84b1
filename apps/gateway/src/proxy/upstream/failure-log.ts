import type { UpstreamFailure } from './upstream-failure.js';

/** The part of a pino logger that the proxy needs. */
export interface ProxyLogger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const QUIET_MS = 1_000;

/**
 * Logs failures of the upstream, of each kind at most one a second: when the upstream is down, a line for every
 * request would only add to the trouble. The next line says how many were left out.
 */
export class FailureLog {
  private readonly seen = new Map<UpstreamFailure, { untilMs: number; leftOut: number }>();

  constructor(private readonly logger: ProxyLogger) {}

  add(kind: UpstreamFailure, requestId: string, error: Error, nowMs: number): void {
    const last = this.seen.get(kind);
    if (last !== undefined && nowMs < last.untilMs) {
      last.leftOut++;
      return;
    }
    this.seen.set(kind, { untilMs: nowMs + QUIET_MS, leftOut: 0 });
    const code = (error as NodeJS.ErrnoException).code;
    this.logger.warn({ requestId, kind, code, reason: error.message, leftOut: last?.leftOut ?? 0 }, 'upstream failure');
  }
}
