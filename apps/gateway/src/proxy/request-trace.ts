/** What is told of one request while it is traced: the times are those of the calls. */
export interface RequestTrace {
  /** By which the trace is found, if this request is among those that are kept. */
  readonly keptTraceId: string | undefined;
  /** The decision is sought. */
  checking(): void;
  /** The rules of the merchant are not in memory. */
  rulesSought(): void;
  rulesFound(): void;
  /** @param source where the decision came from */
  checked(reason: string, source: string): void;
  /** The request leaves for the upstream: appends the context of its trace to these headers, a flat list of names and values. */
  forwarding(headers: string[]): void;
  upstreamAnswered(status: number): void;
  /** @param merchant undefined if none was known */
  ended(request: {
    method: string;
    target: string;
    requestId: string;
    merchant: string | undefined;
    outcome: string;
    status: number;
  }): void;
}

export interface RequestTracer {
  /**
   * @param rawHeaders of the request, names and values alternating
   * @param trusted whether the peer may say which trace the request belongs to
   */
  begin(rawHeaders: readonly string[], trusted: boolean): RequestTrace;
}

/** Whether a header says which trace a request belongs to. */
export function isTraceContext(name: string): boolean {
  if (name.length !== 10 && name.length !== 11) return false;
  const lowerCase = name.toLowerCase();
  return lowerCase === 'traceparent' || lowerCase === 'tracestate';
}

/** The trace context that came is replaced by our own. */
export function withoutTraceContext(headers: readonly string[]): string[] {
  return headers.filter((_, i) => !isTraceContext(headers[i - (i % 2)]!));
}
