import { createRequestIds } from '#edge';
import type { Criticality } from '#platform';
import type { Admit } from './admission.js';
import type { OwnAnswer } from './answer.js';
import { CoarseClock } from './coarse-clock.js';
import { FairShare } from './sharing/fair-share.js';
import { FailureLog, type ProxyLogger } from './upstream/failure-log.js';
import { type MerchantLoad, MerchantLoads } from './sharing/merchant-load.js';
import { PeerConnections } from './sharing/peer-connections.js';
import { PROBLEMS, type Problem } from './problems.js';
import { UpstreamPhase, type ProxyMetrics } from './proxy-metrics.js';
import { type ProxySettings, withDefaultRoute } from './proxy-options.js';
import { createRouteTable, type RouteTable, type Routing } from './routes.js';
import { ShedLog, type ShedReason } from './sharing/shedding.js';
import type { UpstreamFailure } from './upstream/upstream-failure.js';
import type { Upstream } from './upstream/upstream.js';
import { Upstreams } from './upstream/upstreams.js';
import { WebSockets } from './web-sockets/web-sockets.js';

/** The deadlines of connections are checked every so many ticks of the clock. */
const TICKS_BETWEEN_LOOKS = 5;

/** Something with deadlines that are checked at each tick of the clock. */
export interface Timed {
  /**
   * @param nowMs as `performance.now` tells it
   * @param elapsedMs since the last call, in which this process ran
   */
  tick(nowMs: number, elapsedMs: number): void;
}

/** What the data plane itself looks at in a request. */
interface LookedAt {
  readonly criticality: Criticality;
  readonly peer: string;
  receivedValues(name: string): readonly string[];
}

/** An answer whose headers may be held back for its body. */
export interface Flushable {
  flush(): void;
}

/** What all exchanges of a proxy share: the admission, the way to the upstream, the counters. */
export class DataPlane {
  /** Set once the proxy is stopping: every answer from then on closes its connection. */
  draining = false;
  /** Set once connections are closed as soon as they can be. */
  closing = false;
  /** Pipelined requests that wait for their turn, on all connections. */
  waiting = 0;
  /** Where requests go that begin now. */
  routes: RouteTable;

  readonly admit: Admit;
  readonly trusts: (peer: string) => boolean;
  readonly metrics: ProxyMetrics;
  readonly logger: ProxyLogger;
  readonly maxInFlight: number;
  readonly nextRequestId = createRequestIds();
  readonly clock = new CoarseClock();
  readonly upstreams: Upstreams;
  readonly merchants: MerchantLoads;
  readonly peers: PeerConnections;
  readonly webSockets: WebSockets;

  private readonly failureLog: FailureLog;
  private readonly shedLog: ShedLog;
  private readonly buffers: FairShare;
  private unflushed: Flushable[] = [];

  constructor(readonly settings: ProxySettings) {
    this.admit = settings.admit;
    this.trusts = settings.trusts;
    this.metrics = settings.metrics;
    this.logger = settings.logger;
    this.maxInFlight = settings.maxInFlight;
    this.failureLog = new FailureLog(settings.logger);
    this.shedLog = new ShedLog(settings.logger);
    this.upstreams = new Upstreams({
      merchantShare: settings.merchantShare,
      overload: settings.overload,
      logger: settings.logger,
      fastLane: settings.fastLane,
      onConnected: (tookMs) => this.metrics.upstreamTook(UpstreamPhase.connect, tookMs),
    });
    this.metrics.slots = this.upstreams;
    this.metrics.upstreams = this.upstreams;
    this.routes = createRouteTable(settings.routing, settings, this.upstreams);
    this.merchants = new MerchantLoads(new FairShare(settings.maxInFlight, settings.merchantShare));
    this.peers = new PeerConnections(settings.maxConnections, settings.merchantShare, settings.maxConnectionsPerPeer);
    this.webSockets = new WebSockets(settings.maxWebSockets, settings.merchantShare);
    this.metrics.webSockets = this.webSockets;
    this.buffers = new FairShare(settings.maxBufferedBytes, settings.merchantShare);
  }

  /** Requests that begin from now on go by these routes; those that have begun end as they would have. */
  useRoutes(routing: Routing): void {
    this.routes = createRouteTable(withDefaultRoute(routing, this.settings), this.settings, this.upstreams);
  }

  /** Checks the deadlines of these at regular ticks, until `destroy`. */
  watch(timed: Iterable<Timed>): void {
    let ticks = 0;
    let elapsedMs = 0;
    this.clock.start((tickMs) => {
      this.upstreams.tick(this.clock.nowMs);
      elapsedMs += tickMs;
      if (++ticks % TICKS_BETWEEN_LOOKS !== 0) return;
      const nowMs = performance.now();
      for (const each of timed) each.tick(nowMs, elapsedMs);
      elapsedMs = 0;
    });
  }

  /** Reserves memory for bodies that wait; false if the merchant has its share already. */
  buffer(load: MerchantLoad, bytes: number): boolean {
    if (!this.buffers.mayTake(load.bufferedBytes, bytes, load.weight)) return false;
    this.buffers.used += bytes;
    load.bufferedBytes += bytes;
    return true;
  }

  unbuffer(load: MerchantLoad, bytes: number): void {
    this.buffers.used -= bytes;
    load.bufferedBytes -= bytes;
  }

  /** What is answered to a request for which there is no room now, whoever sends it. */
  tooMuch({ criticality, peer }: Pick<LookedAt, 'criticality' | 'peer'>, { slots }: Upstream): Problem | null {
    if (this.metrics.inFlight > this.maxInFlight) return PROBLEMS.overloaded;
    if (criticality !== 'sheddable' || !slots.isFullFor('sheddable')) return null;
    this.metrics.shedOf('sheddable');
    this.shed('overload', peer);
    return PROBLEMS.overload;
  }

  /** An answer of the gateway as the client gets to see it. */
  presented(answer: OwnAnswer, request: Pick<LookedAt, 'receivedValues'>): OwnAnswer {
    const { present } = this.settings;
    return present === undefined ? answer : present(answer, (name) => request.receivedValues(name));
  }

  /** @param who the merchant, or the peer of what belongs to none */
  shed(reason: ShedReason, who: string): void {
    this.metrics.shed(reason);
    this.shedLog.add(reason, who, performance.now());
  }

  /** Answers whose body is late still get their headers out in this turn of the event loop. */
  flushSoon(answer: Flushable): void {
    if (this.unflushed.push(answer) === 1) setImmediate(this.flush);
  }

  upstreamFailed(kind: UpstreamFailure, requestId: string, error: Error): void {
    this.metrics.upstreamFailed(kind);
    this.failureLog.add(kind, requestId, error, performance.now());
  }

  /** Cuts the connections to the upstreams. */
  async destroy(): Promise<void> {
    this.clock.stop();
    await this.upstreams.destroy();
  }

  private readonly flush = (): void => {
    const answers = this.unflushed;
    this.unflushed = [];
    for (const answer of answers) answer.flush();
  };
}
