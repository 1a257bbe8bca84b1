import { ActiveChecks, type ActiveHealth } from './active-checks.js';
import type { ProxyLogger } from './failure-log.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';
import type { PassiveHealth } from './address-health.js';
import { UpstreamAddress } from './upstream-address.js';
import type { UpstreamFailure } from './upstream-failure.js';
import { type OverloadSettings, UpstreamPlaces } from './upstream-places.js';
import type { SlotHolding } from '../sharing/slot-holding.js';
import { UpstreamSlots } from './upstream-slots.js';

/** A client may be silent for as long as the upstream, and for so long more. */
export const AFTER_SILENCE_MS = 30_000;

/** How the address of a request is chosen among the healthy ones: the one with the fewest requests under way, or one after the other. */
export const BALANCES = ['least_requests', 'round_robin'] as const;
export type Balance = (typeof BALANCES)[number];

export interface UpstreamOptions {
  /** Bounded: it is the value of a label. */
  readonly name: string;
  /** Origins, at least one. */
  readonly addresses: readonly URL[];
  /** Speaks HTTP/2 with them, without TLS and without asking; HTTP/1.1 unless given. */
  readonly http2?: boolean | undefined;
  readonly balance: Balance;
  /** Which Host the upstream sees: the client's, or its own. */
  readonly host: 'original' | 'upstream';
  /** Most requests at a time, of all addresses together, each on a connection of its own; further ones wait. */
  readonly connections: number;
  readonly queueTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyIdleTimeoutMs: number;
  readonly passiveHealth: PassiveHealth | null;
  readonly activeHealth: ActiveHealth | null;
}

/** What an upstream has done so far. It outlives a reload that changes the upstream. */
export interface UpstreamCounts {
  answered: number;
  failed: number;
  /** Requests that went to another address because no connection could be opened. */
  connectRetries: number;
  ejections: number;
}

/** What upstreams share with the rest of the data plane. */
export interface UpstreamSurroundings {
  readonly merchantShare: number;
  /** Undefined: overload is not controlled. */
  readonly overload?: OverloadSettings | undefined;
  readonly logger: ProxyLogger;
  readonly onConnected: (tookMs: number) => void;
  readonly fastLane: boolean;
}

/**
 * The failures that say something about an address. A time-out in the middle of an answer may be the request's own doing, and what cannot be
 * forwarded is.
 */
const FAULTS_OF_ADDRESSES: readonly UpstreamFailure[] = ['connect', 'connect_timeout', 'headers_timeout', 'reset', 'invalid_response'];

/** A server, or several that do the same: its addresses, the slots for requests to it, and its time-outs. */
export class Upstream {
  readonly name: string;
  readonly addresses: readonly UpstreamAddress[];
  readonly slots: UpstreamSlots;
  readonly preserveHost: boolean;
  /** For so long a client may hear nothing of a request that is under way. */
  readonly silenceMs: number;
  /** Requests that need it, or will. */
  users = 0;

  private readonly checks: ActiveChecks | undefined;
  private turn = 0;

  constructor(
    readonly options: UpstreamOptions,
    readonly counts: UpstreamCounts,
    private readonly surroundings: UpstreamSurroundings,
  ) {
    const { activeHealth, connections, queueTimeoutMs, headersTimeoutMs, bodyIdleTimeoutMs } = options;
    this.name = options.name;
    this.preserveHost = options.host === 'original';
    this.silenceMs = Math.max(headersTimeoutMs, bodyIdleTimeoutMs) + AFTER_SILENCE_MS;
    const { fastLane, merchantShare, overload, onConnected } = surroundings;
    const places = overload === undefined ? null : new UpstreamPlaces(overload, connections, merchantShare);
    this.slots = new UpstreamSlots(connections, merchantShare, queueTimeoutMs, places);
    const { addresses } = options;
    // A single address is asked however often it has failed.
    const passiveHealth = addresses.length === 1 ? null : options.passiveHealth;
    const ofAddress = { ...options, fastLane, passiveHealth, checks: activeHealth ?? undefined };
    this.addresses = addresses.map((url) => new UpstreamAddress(url, ofAddress, onConnected));
    if (activeHealth !== null)
      this.checks = new ActiveChecks(this.addresses, { ...activeHealth, http2: options.http2 }, (address) => this.stateChanged(address));
  }

  /** What a merchant holds of its slots. */
  holding(load: MerchantLoad): SlotHolding {
    return load.in(this.slots);
  }

  /**
   * The address for a request. If none may be asked, all are: that all are ill is more often an error about health than true, and then
   * nothing is lost.
   *
   * @param tried addresses that could not be connected to, for this request
   * @returns undefined if all have been tried
   */
  choose(nowMs: number, tried: readonly UpstreamAddress[]): UpstreamAddress | undefined {
    const { addresses } = this;
    if (addresses.length === 1) return tried.length === 0 ? addresses[0] : undefined;
    const chosen = this.best(nowMs, tried, true) ?? this.best(nowMs, tried, false);
    chosen?.health.asked(nowMs);
    return chosen;
  }

  /** An address has begun its answer to a request that was sent at this time. */
  answered(address: UpstreamAddress, sentAtMs: number): void {
    this.counts.answered++;
    address.health.answered(sentAtMs);
  }

  failed(address: UpstreamAddress, failure: UpstreamFailure, nowMs: number): void {
    this.counts.failed++;
    if (!FAULTS_OF_ADDRESSES.includes(failure) || !address.health.failed(nowMs)) return;
    this.counts.ejections++;
    this.stateChanged(address);
  }

  /** Whether nothing needs it any more. */
  get idle(): boolean {
    return this.users === 0 && this.slots.used === 0 && this.slots.waiting === 0;
  }

  /** Cuts its connections. */
  async destroy(): Promise<void> {
    await Promise.all([this.checks?.stop(), ...this.addresses.map((address) => address.destroy())]);
  }

  private best(nowMs: number, tried: readonly UpstreamAddress[], healthy: boolean): UpstreamAddress | undefined {
    const { addresses, options } = this;
    // Between equals it goes round.
    const first = this.turn++ % addresses.length;
    let best: UpstreamAddress | undefined;
    for (let i = 0; i < addresses.length; i++) {
      const address = addresses[(first + i) % addresses.length]!;
      if (tried.includes(address) || (healthy && !address.health.mayBeAsked(nowMs))) continue;
      if (options.balance === 'round_robin') return address;
      if (best === undefined || address.inFlight < best.inFlight) best = address;
    }
    return best;
  }

  private stateChanged({ url, health }: UpstreamAddress): void {
    this.surroundings.logger.warn({ upstream: this.name, address: url.host, state: health.state }, 'upstream address changed its state');
  }
}
