export type { CodeRule } from './code-rules.js';
export type { Asked, NodeRequest, NodeResponse } from './node-http.js';
export type { ExpressMiddleware } from './express.js';
export type { FastifyOptions, FastifyPlugin } from './fastify.js';
export type { RequestOptions, RouteOptions, Told, TollgateOptions } from './options.js';
export { OptionsError } from './options-error.js';
export type { Admission } from './passage.js';
export { ROUTE_HEADER } from './route-name.js';
export { createTollgate, Tollgate } from './tollgate.js';
