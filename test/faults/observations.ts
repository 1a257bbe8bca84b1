/** What clients and the upstream saw, and whether it fits together. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Merchant } from './merchants.js';

/** What a client got. */
export interface Answer {
  readonly id: number;
  readonly merchant: Merchant;
  readonly sentMs: number;
  readonly tookMs: number;
  /** 0: none, the connection broke. */
  readonly status: number;
}

interface Received {
  readonly merchant: string;
  readonly atMs: number;
  times: number;
}

const ID_HEADER = 'x-fault-request';
const MERCHANT_HEADER = 'x-merchant-id';

/** The log of the upstream: which request of which merchant came, when, and how often. */
export class ReceivedLog {
  private readonly requests = new Map<number, Received>();

  /** What a client sends so that its request is known here. */
  headersOf(merchant: string, id: number): Record<string, string> {
    return { [MERCHANT_HEADER]: merchant, [ID_HEADER]: String(id) };
  }

  note(headers: IncomingHttpHeaders): void {
    const id = Number(headers[ID_HEADER]);
    const known = this.requests.get(id);
    if (known !== undefined) known.times++;
    else this.requests.set(id, { merchant: String(headers[MERCHANT_HEADER]), atMs: performance.now(), times: 1 });
  }

  /** Requests of a merchant that came from one moment to another. */
  countOf(merchant: string, fromMs: number, untilMs: number): number {
    let count = 0;
    for (const { merchant: whose, atMs, times } of this.requests.values())
      if (whose === merchant && atMs >= fromMs && atMs < untilMs) count += times;
    return count;
  }

  /** What does not go together with what the clients were answered: a refusal that was forwarded, an answer of nobody, a request that came twice. */
  contradictions(answers: readonly Answer[]): string[] {
    return answers.flatMap(({ id, merchant, status }) => {
      const times = this.requests.get(id)?.times ?? 0;
      if (times > 1) return [`a request of ${merchant} came ${times} times`];
      if (times === 1 && (status === 429 || status === 503)) return [`a request of ${merchant} was answered ${status} and forwarded`];
      return times === 0 && status === 200 ? [`a request of ${merchant} was answered 200 and not forwarded`] : [];
    });
  }

  forget(): void {
    this.requests.clear();
  }
}

/** The smallest value that so large a share of all does not exceed; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
