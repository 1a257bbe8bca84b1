import { Allowances, type Clock, escaped } from '#limiter';
import { ProblemError } from '#platform';

/** Of a clock that is never set. */
const steadyClock: Clock = () => performance.timeOrigin + performance.now();

/** What one caller may ask of this process: a flood of it is refused before anything is decided. */
export class CallerLimit {
  private readonly allowances: Allowances | undefined;

  /** @param perSecond decisions a second, and as many at once; 0: any number */
  constructor(perSecond: number, clock = steadyClock) {
    if (perSecond > 0) this.allowances = new Allowances({ capacity: perSecond, refillTokens: perSecond, refillIntervalMs: 1_000, clock });
  }

  /** @throws ProblemError 429 */
  demand(caller: string, decisions: number): void {
    const retryAfterMs = this.allowances?.take(escaped(caller), decisions) ?? 0;
    if (retryAfterMs !== 0) throw tooManyDecisions(retryAfterMs);
  }
}

function tooManyDecisions(retryAfterMs: number | 'never'): ProblemError {
  const seconds = retryAfterMs === 'never' ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new ProblemError({
    status: 429,
    type: 'too-many-attempts',
    code: 'decision_api.caller_over_limit',
    detail: 'this caller asks for more decisions a second than DECISION_API_CALLER_PER_SECOND; nothing was decided',
    headers: seconds === undefined ? {} : { 'retry-after': String(seconds) },
  });
}
