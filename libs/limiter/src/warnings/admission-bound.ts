import { capacityOf, excessOf, type LimitSpec } from '../limits/limit.js';

/**
 * What a limit admits at most, whatever is asked of it: the arrival curves of network calculus (Cruz 1991). Upper bounds, and not always the least ones, so
 * that what follows from them is true. In tokens; sums are of any size, so whole numbers of any size hold them.
 */
export interface AdmissionBound {
  /** Within any span of so many milliseconds, its end not included. */
  mostWithin(spanMs: number): bigint;
  /** In every span: at most `burst`, and `tokens` for each `everyMs` of its length. */
  readonly line: { readonly burst: bigint; readonly tokens: bigint; readonly everyMs: bigint };
}

/** Nothing where no bound is known, or what is over the limit may pass. */
export function admissionBound(spec: LimitSpec): AdmissionBound | undefined {
  if (spec.throttle === 'elastic') return undefined;
  const most = BigInt(capacityOf(spec) + excessOf(spec));
  switch (spec.algorithm) {
    case 'token_bucket': {
      if (spec.refillIntervalMs === undefined || (spec.initialTokens ?? 0) > spec.capacity) return undefined;
      // Of a bucket that is refilled in steps, one step may lie at either end of a span.
      const steps = spec.refill === 'interval' ? BigInt(spec.refillTokens) : 0n;
      return refilled(most + steps, spec.refillTokens, spec.refillIntervalMs);
    }
    case 'gcra':
      return refilled(most, spec.refillTokens, spec.refillIntervalMs);
    case 'leaky_bucket':
      return refilled(most, spec.drainTokens, spec.drainIntervalMs);
    case 'fixed_window':
      // A span touches one window more than fit into it.
      return spec.windowMs === undefined ? undefined : windowed(most, spec.windowMs, 1n);
    case 'sliding_log':
      return windowed(most, spec.windowMs, 0n);
    default:
      return undefined;
  }
}

function refilled(burst: bigint, refillTokens: number, intervalMs: number): AdmissionBound {
  const [tokens, everyMs] = [BigInt(refillTokens), BigInt(intervalMs)];
  return { mostWithin: (spanMs) => burst + (tokens * BigInt(spanMs)) / everyMs, line: { burst, tokens, everyMs } };
}

function windowed(tokens: bigint, windowMs: number, more: bigint): AdmissionBound {
  const everyMs = BigInt(windowMs);
  const windows = (spanMs: number) => (BigInt(spanMs) + everyMs - 1n) / everyMs + more;
  return { mostWithin: (spanMs) => tokens * windows(spanMs), line: { burst: tokens * (1n + more), tokens, everyMs } };
}
