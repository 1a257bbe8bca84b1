/** The service of a decision API behind @grpc/grpc-js as its documentation shows it: the same handlers, rules and buckets, and another way to them. */
import 'reflect-metadata';
import { once } from 'node:events';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { headersIn } from '#edge';
import { createLogger, createRegistry, Health, loadConfigOrExit } from '#platform';
import { importBuilt } from '../../scripts/build.mjs';

const inApp = (/** @type {string} */ file) => importBuilt(`apps/decision-api/src/${file}`);
const { DecisionApi } = await inApp('decision-api.js');
const { decisionService } = await inApp('grpc/decision-service.js');
const { rateLimitService } = await inApp('envoy/rate-limit-service.js');
const { serviceNamed } = await inApp('grpc/protos.js');

const config = loadConfigOrExit('decision-api');
const logger = createLogger('decision-api', 'warn');
const api = new DecisionApi({ config, logger, health: new Health(), registry: createRegistry('decision-api') });
await api.start();

const options = {
  decisions: api.decisions,
  limit: api.callerLimit,
  logger,
  headersOf: headersIn(config.rateLimitHeaders, config.rateLimitReset),
};
const call = { requestId: '', caller: 'local', peer: '127.0.0.1', isOver: () => false };
const server = new Server({ 'grpc.max_concurrent_streams': 256 });
for (const [name, handlers] of /** @type {const} */ ([
  ['tollgate.v1.DecisionService', decisionService(options)],
  ['envoy.service.ratelimit.v3.RateLimitService', rateLimitService(options)],
])) {
  /** @type {import('@grpc/grpc-js').UntypedServiceImplementation} */
  const implementation = {};
  for (const [method, handler] of Object.entries(handlers.quick))
    implementation[method] = (/** @type {any} */ asked, /** @type {any} */ callback) => {
      const answered = (/** @type {object | Error} */ outcome) => (outcome instanceof Error ? callback(outcome) : callback(null, outcome));
      try {
        handler(asked.request, call, answered);
      } catch (error) {
        callback(error);
      }
    };
  for (const [method, handler] of Object.entries(handlers.unary ?? {}))
    implementation[method] = (/** @type {any} */ asked, /** @type {any} */ callback) =>
      handler(asked.request, call).then((/** @type {object} */ message) => callback(null, message), callback);
  server.addService(serviceNamed(name), implementation);
}
const port = await new Promise((resolve, reject) =>
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
);
console.log(`listening ${port}`);
await once(process, 'SIGTERM');
process.exit(0);
