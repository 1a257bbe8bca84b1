import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { AskedRoute } from '../describe.js';
import type { RouteOptions, TollgateOptions } from '../options.js';
import { OptionsError } from '../options-error.js';
import { Tollgate } from '../tollgate.js';
import { ROUTE_OPTIONS, SKIPPED } from './rate-limit.decorator.js';

export const TOLLGATE_OPTIONS = Symbol('options of tollgate');

type Handler = (...args: never[]) => unknown;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Nest has it
type Controller = abstract new (...args: any[]) => unknown;

const SKIP: AskedRoute = { requests: { skip: true } };

/** The Tollgate of a Nest app, which lives as long as that. */
@Injectable()
export class TollgateService implements OnModuleInit, OnApplicationShutdown {
  /** For whatever the guard does not do: metrics, readiness. */
  readonly tollgate: Tollgate;
  private readonly routes = new Map<Controller, Map<Handler, AskedRoute>>();

  /** @throws OptionsError */
  constructor(
    @Inject(TOLLGATE_OPTIONS) options: TollgateOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    this.tollgate = new Tollgate(options);
  }

  /** Looks at all handlers, so that an app with options that cannot be meant does not start. */
  async onModuleInit(): Promise<void> {
    try {
      for (const { metatype } of this.discovery.getControllers()) {
        const controller = metatype as Controller | null;
        if (controller === null) continue;
        const prototype = controller.prototype as Record<string, unknown>;
        for (const name of this.scanner.getAllMethodNames(prototype)) this.routeOf(controller, prototype[name] as Handler);
      }
    } catch (error) {
      // Nobody closes an app that does not start.
      await this.tollgate.close();
      throw error;
    }
    await this.tollgate.open();
  }

  /** Once the server has been closed. */
  onApplicationShutdown(): Promise<void> {
    return this.tollgate.close();
  }

  routeOf(controller: Controller, handler: Handler): AskedRoute {
    let routes = this.routes.get(controller);
    if (routes === undefined) this.routes.set(controller, (routes = new Map<Handler, AskedRoute>()));
    let route = routes.get(handler);
    if (route === undefined) routes.set(handler, (route = this.newRoute(controller, handler)));
    return route;
  }

  private newRoute(controller: Controller, handler: Handler): AskedRoute {
    const of = <T>(key: string): T[] => [controller, handler].map((target) => this.reflector.get<T>(key, target as never));
    if (of<boolean | undefined>(SKIPPED).reduce((last, each) => each ?? last)) return SKIP;
    const [all, own] = of<RouteOptions | undefined>(ROUTE_OPTIONS);
    const name = `${controller.name}.${handler.name}`;
    return this.tollgate.prepare(together(all, own, name), `@RateLimit() of ${name}`, { route: name });
  }
}

/** What a handler says of limits takes the place of what its controller says of them: half of each is nothing that anybody meant. */
function together(all: RouteOptions = {}, own: RouteOptions = {}, name: string): RouteOptions {
  if (all.route !== undefined)
    throw new OptionsError([
      { at: `@RateLimit() of the controller of ${name}: route`, detail: 'belongs to a handler: it names one route' },
    ]);
  if (own.limit === undefined && own.windowMs === undefined && own.rules === undefined) return { ...all, ...own };
  const { limit: _limit, windowMs: _windowMs, key: _key, rules: _rules, ...others } = all;
  return { ...others, ...own };
}
