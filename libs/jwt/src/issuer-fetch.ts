/** The issuer of OIDC tokens cannot be asked, or answers what makes no sense. It says nothing about a token. */
export class IssuerUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IssuerUnavailableError';
  }
}

/** The document of an issuer and its keys are some kilobytes. */
const MAX_BYTES = 524_288;

export interface IssuerFetchOptions {
  readonly timeoutMs: number;
  /** For so long after a failure nobody else waits for the issuer: each gets the failure at once. */
  readonly retryAfterMs: number;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  readonly onFailure: (error: IssuerUnavailableError) => void;
}

/** Asks an issuer over HTTP, within bounds of time and bytes, and follows no redirect. */
export class IssuerFetch {
  private failed: { readonly error: IssuerUnavailableError; readonly untilMs: number } | undefined;

  constructor(private readonly options: IssuerFetchOptions) {}

  /** A `fetch` for jose, which wants an answer that is not read yet. @throws IssuerUnavailableError */
  readonly fetch = async (url: string, { headers }: { readonly headers?: Headers } = {}): Promise<Response> => {
    const { now, onFailure, retryAfterMs, timeoutMs } = this.options;
    if (this.failed !== undefined && now() < this.failed.untilMs) throw this.failed.error;
    try {
      const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs), ...(headers && { headers }) });
      const text = await boundedText(answer);
      if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
      this.failed = undefined;
      return new Response(text);
    } catch (failure) {
      const error = new IssuerUnavailableError(`the issuer cannot be asked: ${reasonOf(failure as Error)}`);
      this.failed = { error, untilMs: now() + retryAfterMs };
      onFailure(error);
      throw error;
    }
  };
}

/** What node calls `fetch failed` has its reason behind it; where a host has several addresses, one for each. */
function reasonOf({ message, cause }: Error): string {
  const { errors = [] } = (cause ?? {}) as Partial<AggregateError>;
  const behind = (errors[0] ?? cause) as Error | undefined;
  return typeof behind?.message === 'string' ? reasonOf(behind) : message;
}

async function boundedText(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    pieces.push(piece as Uint8Array);
    bytes += (piece as Uint8Array).length;
    if (bytes > MAX_BYTES) throw new Error(`${answer.url} answered more than ${MAX_BYTES} bytes`);
  }
  return Buffer.concat(pieces).toString('utf8');
}
