import type { DataPlane } from './data-plane.js';
import type { MerchantLoad } from './sharing/merchant-load.js';
import { type Outcome, OUTCOMES } from './proxy-metrics.js';
import type { RequestTrace } from './request-trace.js';

/** A request that has ended. */
interface EndedRequest {
  readonly requestId: string;
  readonly method: string;
  readonly target: string;
  readonly peer: string;
  readonly trace: RequestTrace | undefined;
}

/** Tells those who want to know of every request: the access log and traces, where there are any. */
export function tellOf(
  { requestId, method, target, peer, trace }: EndedRequest,
  { settings: { accessLog } }: DataPlane,
  load: MerchantLoad | null,
  outcome: Outcome,
  status: number,
  durationMs: number,
): void {
  if (trace === undefined && accessLog === undefined) return;
  // What counts for its peer belongs to no merchant.
  const merchant = load === null || load.key === peer ? undefined : load.key;
  const request = { requestId, merchant, method, target, status, outcome: OUTCOMES[outcome]! };
  trace?.ended(request);
  accessLog?.add({ ...request, durationMs, traceId: trace?.keptTraceId });
}
