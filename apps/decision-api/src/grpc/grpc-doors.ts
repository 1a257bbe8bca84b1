import type { HeadersOf, Trust } from '#edge';
import type { Health, Logger } from '#platform';
import type { CallerLimit } from '../callers/caller-limit.js';
import type { Callers } from '../callers/callers.js';
import type { Decisions } from '../decisions/decisions.js';
import { authorizationService } from '../envoy/authorization-service.js';
import type { LimitOverrides } from '../envoy/limit-overrides.js';
import { rateLimitService } from '../envoy/rate-limit-service.js';
import type { CallCounts } from '../http/call-counts.js';
import { decisionService } from './decision-service.js';
import type { TlsDoor } from '../tls/tls-door.js';
import { GrpcHealth } from './grpc-health.js';
import { BodyBudget } from '../http/request-body.js';
import type { ConnectionSilence } from '../http2/silence.js';
import { GrpcServer } from './grpc-server.js';
import { serviceNamed } from './protos.js';
import { reflection } from './reflection.js';

export interface GrpcDoorsOptions {
  readonly decisions: Decisions;
  /** The same, for requests that nobody rewrites. */
  readonly strictDecisions: Decisions;
  readonly callers: Callers;
  readonly limit: CallerLimit;
  readonly headersOf: HeadersOf;
  readonly trusts: Trust;
  readonly overrides: LimitOverrides;
  readonly health: Health;
  readonly logger: Pick<Logger, 'error'>;
  /** Counts calls by their name and the HTTP status that stands for their answer. */
  readonly counts: Pick<CallCounts, 'count'>;
  readonly maxInFlight: number;
  readonly maxConnections: number;
  /** Bytes of messages that are not whole, of all calls together. */
  readonly maxBufferedBytes: number;
  /** Undefined: calls come without TLS. */
  readonly tls?: TlsDoor | undefined;
  /** How long connections may be silent; see GrpcServer. */
  readonly silence?: ConnectionSilence | undefined;
}

const DECISION_SERVICE = 'tollgate.v1.DecisionService';
const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';
const AUTHORIZATION = 'envoy.service.auth.v3.Authorization';

/** Everything that is asked by gRPC, on one port. */
export class GrpcDoors {
  private readonly server: GrpcServer;
  private readonly health: GrpcHealth;

  constructor(options: GrpcDoorsOptions) {
    const { callers, counts, health, logger, maxInFlight, maxConnections, maxBufferedBytes, silence, tls } = options;
    this.server = new GrpcServer({
      logger,
      counts,
      maxInFlight,
      maxConnections,
      budget: new BodyBudget(maxBufferedBytes),
      tls,
      silence,
      callerOf: (headers, peer, shown) => callers.named(callers.credentialIn({ headers }), peer, shown),
    });
    this.server.add(serviceNamed(DECISION_SERVICE), decisionService(options));
    this.server.add(serviceNamed(RATE_LIMIT_SERVICE), rateLimitService(options));
    this.server.add(serviceNamed(AUTHORIZATION), authorizationService(options));
    this.health = new GrpcHealth(health, [DECISION_SERVICE, RATE_LIMIT_SERVICE, AUTHORIZATION]);
    this.health.addTo(this.server.services);
    reflection().addToServer(this.server.services);
  }

  /** Answers the port. Rejects with the system's error. */
  async listen(port: number, host: string): Promise<number> {
    await this.health.start();
    return this.server.listen(port, host);
  }

  /** Serves on, and says that others should be asked. */
  drain(): void {
    this.health.stop();
  }

  /** Resolves when all connections are closed, at the latest after `graceMs`. */
  close(graceMs: number): Promise<void> {
    this.health.stop();
    return this.server.close(graceMs);
  }
}
