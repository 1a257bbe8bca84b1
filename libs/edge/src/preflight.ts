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
