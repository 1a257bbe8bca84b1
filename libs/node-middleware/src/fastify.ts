import type { FastifyInstance, FastifyReply, RouteOptions as FastifyRoute } from 'fastify';
import { PROBLEM_CONTENT_TYPE } from '#platform';
import type { AskedRoute } from './describe.js';
import type { Door } from './door.js';
import { OptionsError } from './options-error.js';
import type { RequestOptions, RouteOptions } from './options.js';

const FASTIFY_HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;

export interface FastifyOptions extends RequestOptions {
  /** When a request is decided about; `onRequest` unless given. From `preValidation` on rules can look at its body. */
  readonly hook?: (typeof FASTIFY_HOOKS)[number];
}

export type FastifyPlugin = (fastify: FastifyInstance, options: FastifyOptions) => Promise<void>;

/** What a route says in its `config`: `{ config: { tollgate: { limit: 10, windowMs: 1000 } } }`. */
interface RouteConfig {
  readonly tollgate?: RouteOptions;
  readonly url?: string;
  readonly method?: string | readonly string[];
}

/** A plugin for Fastify 5. It applies to all routes that are added behind it, wherever that is. */
export function fastifyPlugin(door: Door): FastifyPlugin {
  const plugin: FastifyPlugin = async (fastify, { hook = 'onRequest', ...options }) => {
    if (!FASTIFY_HOOKS.includes(hook))
      throw new OptionsError([{ at: 'fastify.hook', detail: `must be one of ${FASTIFY_HOOKS.join(', ')}` }]);
    const { requests } = door.prepare(options, 'fastify');
    const { routerOptions, caseSensitive } = fastify.initialConfig;
    const ignorePathCase = !door.pathCaseSensitive(routerOptions?.caseSensitive ?? caseSensitive ?? true);
    const prepare = (config: RouteConfig): AskedRoute => {
      const route = routeNameOf(config);
      return door.prepare(config.tollgate ?? {}, `the route ${route ?? ''}: tollgate`, { route, requests });
    };
    // At the start, so that a route with options that cannot be meant is no route at all.
    fastify.addHook('onRoute', ({ config, url, method }: FastifyRoute) => void prepare({ ...(config as RouteConfig), url, method }));
    const routes = new WeakMap<object, AskedRoute>();
    const routeOf = (config: RouteConfig): AskedRoute => {
      let route = routes.get(config);
      if (route === undefined) routes.set(config, (route = prepare(config)));
      return route;
    };
    fastify.addHook(hook as 'onRequest', async (request, reply) => {
      const { raw, body } = request;
      const asked = { seen: request, request: raw, response: reply.raw, target: raw.url ?? '', ignorePathCase, body };
      const admission = await door.admit(asked, routeOf(request.routeOptions.config));
      if (admission === 'gone') return void reply.hijack();
      if (admission.passes) return setHeaders(reply, admission.headers);
      const { status, headers, body: problem } = admission.answer;
      setHeaders(reply, headers);
      return reply.code(status).type(PROBLEM_CONTENT_TYPE).send(problem);
    });
  };
  // As fastify-plugin does it: the hooks are for whoever registers the plugin, and not for a context of its own.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'tollgate' });
}

/** Like `GET /users/:id`; undefined where no route was found. HEAD is answered by the handlers of GET, and has no limits of its own. */
function routeNameOf({ url, method = [] }: RouteConfig): string | undefined {
  if (url === undefined) return undefined;
  const methods = [method].flat().map((each) => (each === 'HEAD' ? 'GET' : each));
  return `${[...new Set(methods)].join('|')} ${url}`;
}

function setHeaders(reply: FastifyReply, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]!);
}
