import { counterBy } from '#metrics';
import type { Registry } from 'prom-client';

interface AskedRequest {
  readonly method: string;
  readonly head: { readonly bodyLength: number };
  receivedValues(name: string): readonly string[];
}

/**
 * Whether a browser asks, before a request that goes to another origin, whether it may be sent: OPTIONS with Origin and
 * Access-Control-Request-Method, and without a body (Fetch, 4.8). Browsers send no credentials with it.
 */
export function isPreflight(request: AskedRequest): boolean {
  if (request.method !== 'OPTIONS' || request.head.bodyLength !== 0) return false;
  return request.receivedValues('origin').length === 1 && request.receivedValues('access-control-request-method').length === 1;
}

/** Preflight requests so far: of merchants that were known, and of nobody in particular. */
export class PreflightCounts {
  named = 0;
  anonymous = 0;

  register(registry: Registry): void {
    counterBy(
      registry,
      'tollgate_preflights_total',
      'Preflight requests of browsers, by whether a merchant was named.',
      ['merchant'],
      () => [
        [['named'], this.named],
        [['anonymous'], this.anonymous],
      ],
    );
  }
}
