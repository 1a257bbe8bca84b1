export { AccessLog } from './access-log.js';
export type { Admission, Admit, InboundRequest } from './admission.js';
export { Outcome, ProxyMetrics } from './proxy-metrics.js';
export type { ProxyLogger } from './failure-log.js';
export type { ProxyOptions } from './proxy-options.js';
export { ProxyServer } from './proxy-server.js';
export type { PairOfFiles, TlsOptions } from './tls-server.js';
export { isTraceContext, type RequestTrace, type RequestTracer } from './request-trace.js';
