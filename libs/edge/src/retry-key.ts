/** What of a request says whether it may be a retry. */
export interface RetriedRequest {
  readonly method: string;
  readonly target: string;
  /** `bodyLength` in bytes; negative if it is not declared. */
  readonly head: { readonly bodyLength: number };
  receivedValues(name: string): readonly string[];
}

const MOST_CHARACTERS = 255;

/**
 * What has to be the same of a request and its retry: the Idempotency-Key (draft-ietf-httpapi-idempotency-key-header), method, path and query, and the length of
 * the body. Undefined: it is charged like any other, as are requests with more than one key, and bodies whose length is not declared.
 */
export function retryKeyOf(request: RetriedRequest): string | undefined {
  const [key = '', ...more] = request.receivedValues('idempotency-key');
  const { method, target, head } = request;
  if (key === '' || key.length > MOST_CHARACTERS || more.length > 0 || head.bodyLength < 0) return undefined;
  return `${method} ${target} ${head.bodyLength} ${key}`;
}
