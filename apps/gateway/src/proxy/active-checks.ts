import { Agent } from 'undici';
import type { CheckThresholds } from './address-health.js';
import { upstreamLookup, type UpstreamAddress } from './upstream-address.js';

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
    private readonly options: ActiveHealth,
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
    const passed = await this.passes(address.url.origin);
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
