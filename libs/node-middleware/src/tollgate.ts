import { Door } from './door.js';
import { type ExpressMiddleware, expressMiddleware } from './express.js';
import { type FastifyPlugin, fastifyPlugin } from './fastify.js';
import type { RouteOptions, TollgateOptions } from './options.js';

/** Limits in a service of Node. */
export class Tollgate extends Door {
  /**
   * A middleware for Express 4 and 5, for an app, a router or a route. A request that meets two of them is an error, unless they are of the same route.
   *
   * @throws OptionsError
   */
  express(options: RouteOptions = {}): ExpressMiddleware {
    return expressMiddleware(this, options);
  }

  /** A plugin for Fastify 5: `await app.register(tollgate.fastify)`, before the routes. */
  get fastify(): FastifyPlugin {
    return fastifyPlugin(this);
  }
}

/**
 * Resolves once the first decisions will be quick, after about three seconds at the latest: whatever is away then, the rules say what happens.
 * Rejects with an OptionsError that names every wrong option.
 */
export async function createTollgate(options: TollgateOptions): Promise<Tollgate> {
  const tollgate = new Tollgate(options);
  await tollgate.open();
  return tollgate;
}
