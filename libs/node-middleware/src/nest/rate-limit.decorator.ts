import { SetMetadata } from '@nestjs/common';
import type { RouteOptions } from '../options.js';

export const ROUTE_OPTIONS = 'tollgate:route';
export const SKIPPED = 'tollgate:skipped';

/**
 * What a handler, or every handler of a controller, says of itself: a limit of its own, what a request costs, whose it is. Each handler has its own buckets. What
 * stands at a handler goes before what stands at its controller.
 */
export const RateLimit = (options: RouteOptions): MethodDecorator & ClassDecorator => SetMetadata(ROUTE_OPTIONS, options);

/** Nobody decides about requests of this handler, or of this controller. */
export const SkipRateLimit = (skip = true): MethodDecorator & ClassDecorator => SetMetadata(SKIPPED, skip);
