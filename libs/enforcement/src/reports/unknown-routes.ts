import type { EnforcerLogger } from '../enforcer-options.js';

/** A line at most every so often, however many rules and requests there are. Milliseconds. */
const QUIET_MS = 10_000;

/** Logs that a rule wants to reroute requests to a route that does not exist. */
export class UnknownRoutes {
  private quietUntilMs = -Infinity;
  private leftOut = 0;

  constructor(private readonly logger: Pick<EnforcerLogger, 'warn'>) {}

  /** @param nowMs by a clock that never steps back */
  tell(route: string, ruleId: string, nowMs: number): void {
    if (nowMs < this.quietUntilMs) {
      this.leftOut++;
      return;
    }
    this.logger.warn(
      { route, ruleId, leftOut: this.leftOut },
      'a rule reroutes to a route that this gateway does not have: its requests are refused',
    );
    this.quietUntilMs = nowMs + QUIET_MS;
    this.leftOut = 0;
  }
}
