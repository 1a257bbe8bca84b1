import { type Dispatcher, request } from 'undici';
import type { AttemptOutcome, DueDelivery } from '#rules-db';
import type { WebhookSecrets } from '../webhook-secrets.js';
import { backOffMs, MAX_ATTEMPTS } from './back-off.js';
import { signatureHeaders } from './signature.js';

/** What is read of an answer, so that its connection can be used again; nobody looks at it. */
const MAX_ANSWER_BYTES = 16_384;
const MAX_ERROR_LENGTH = 200;
const USER_AGENT = 'tollgate-webhooks/1';

export interface SenderOptions {
  readonly agent: Dispatcher;
  readonly secrets: WebhookSecrets;
  /** From the beginning of an attempt to the headers of the answer. Milliseconds. */
  readonly timeoutMs: number;
  readonly nowMs?: () => number;
  /** Replaced in tests. */
  readonly backOffMs?: (attempts: number) => number;
}

/** Makes one attempt of a delivery. */
export class Sender {
  private readonly nowMs: () => number;
  private readonly backOffMs: (attempts: number) => number;

  constructor(private readonly options: SenderOptions) {
    this.nowMs = options.nowMs ?? Date.now;
    this.backOffMs = options.backOffMs ?? ((attempts) => backOffMs(attempts, Math.random()));
  }

  /** Never rejects. @param stopped aborts the attempt, which then says nothing about the receiver */
  async attempt(delivery: DueDelivery, stopped: AbortSignal): Promise<AttemptOutcome> {
    const { secrets, timeoutMs } = this.options;
    const opened = delivery.secrets.map((sealed) => secrets.open(sealed)).filter((secret) => secret !== undefined);
    if (opened.length === 0) return this.failed(delivery, null, 'the secret cannot be read with this TOKEN_HASH_KEY; rotate it');
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(timeoutMs)]);
    try {
      const status = await this.send(delivery, opened, signal);
      if (status >= 200 && status < 300) return { state: 'delivered', status };
      return this.failed(delivery, status, `the receiver answered with status ${status}`);
    } catch (error) {
      if (stopped.aborted) return { state: 'released' };
      return this.failed(delivery, null, signal.aborted ? `no answer within ${timeoutMs} ms` : inWords(error));
    }
  }

  private async send({ url, messageId, body }: DueDelivery, secrets: readonly Buffer[], signal: AbortSignal): Promise<number> {
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      ...signatureHeaders({ id: messageId, body, atMs: this.nowMs() }, secrets),
    };
    const { statusCode, body: answer } = await request(url, { method: 'POST', headers, body, signal, dispatcher: this.options.agent });
    // The status has said everything: a body that breaks, or never ends, changes nothing.
    await answer.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => answer.destroy());
    return statusCode;
  }

  private failed({ attempts }: DueDelivery, status: number | null, error: string): AttemptOutcome {
    if (attempts >= MAX_ATTEMPTS) return { state: 'dead', status, error };
    return { state: 'failed', status, error, retryAfterMs: this.backOffMs(attempts) };
  }
}

/** Neither an address nor the URL: both may be secret. */
function inWords(error: unknown): string {
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  return (name === 'AddressNotAllowedError' ? message : (code ?? name ?? 'Error'))!.slice(0, MAX_ERROR_LENGTH);
}
