import { Agent, buildConnector } from 'undici';
import type { CheckThresholds } from './address-health.js';
import { Http2Upstream } from './http2-upstream.js';
import { upstreamLookup, type UpstreamAddress } from './upstream-address.js';

/** What of the options of an upstream says how it is asked. */
export interface CheckedBy extends ActiveHealth {
  /** Over HTTP/2 without TLS; HTTP/1.1 unless given. */
  readonly http2?: boolean | undefined;
}

export interface ActiveHealth extends CheckThresholds {
  /** What is asked for by GET; 2xx is healthy. */
  readonly path: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** The first check comes within this time, so that many gateways that start together do not ask together. */
const FIRST_CHECK_WITHIN_MS = 1_000;

/**
 * Asks each address of an upstream for a path now and then, on connections of its own: it takes no slot of a request. One check of an
 * address is under way at a time.
 */
export class ActiveChecks {
  private readonly agent: Agent;
  private readonly timers = new Set<NodeJS.Timeout>();
  private stopped = false;

  /** @param onChange told of an address whose state has changed */
  constructor(
    addresses: readonly UpstreamAddress[],
    private readonly options: CheckedBy,
    private readonly onChange: (address: UpstreamAddress) => void,
  ) {
    const { intervalMs, timeoutMs } = options;
    // Without keep-alive: whether connections are accepted is part of the question.
    const connect = { timeout: timeoutMs, lookup: upstreamLookup };
    this.agent = new Agent({ connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs, pipelining: 0 });
    for (const address of addresses) this.checkIn(address, Math.random() * Math.min(intervalMs, FIRST_CHECK_WITHIN_MS));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    await this.agent.destroy();
  }

  private checkIn(address: UpstreamAddress, ms: number): void {
    if (this.stopped) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      void this.check(address).then(() => this.checkIn(address, this.options.intervalMs));
    }, ms).unref();
    this.timers.add(timer);
  }

  private async check(address: UpstreamAddress): Promise<void> {
    const passed = await (this.options.http2 === true ? passesOverHttp2(address.url, this.options) : this.passes(address.url.origin));
    if (!this.stopped && address.health.checked(passed)) this.onChange(address);
  }

  private async passes(origin: string): Promise<boolean> {
    const { path, timeoutMs } = this.options;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode, body } = await this.agent.request({ origin, path, method: 'GET', signal });
      // Whether the rest of the answer comes is of no interest.
      body.on('error', () => {}).destroy();
      return statusCode >= 200 && statusCode < 300;
    } catch {
      return false;
    }
  }
}

/** On a connection of its own, which is cut once the answer has begun. Never rejects. */
async function passesOverHttp2(url: URL, { path, timeoutMs }: CheckedBy): Promise<boolean> {
  const connect = buildConnector({ timeout: timeoutMs, lookup: upstreamLookup });
  const upstream = new Http2Upstream(url, connect, {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyIdleTimeoutMs: timeoutMs,
  });
  const timer = setTimeout(() => void upstream.destroy(), timeoutMs);
  const status = await new Promise<number>((resolve) =>
    upstream.dispatch(
      { method: 'GET', path, headers: [], body: null, trailed: null },
      {
        onConnect: () => {},
        onHeaders: (said) => {
          if (said >= 200) resolve(said);
          return true;
        },
        onData: () => true,
        onComplete: () => {},
        onError: () => resolve(0),
      },
    ),
  );
  clearTimeout(timer);
  await upstream.destroy();
  return status >= 200 && status < 300;
}
