export * from '../index.js';
export { RateLimit, SkipRateLimit } from './rate-limit.decorator.js';
export { RateLimitException, TollgateGuard } from './tollgate.guard.js';
export { TollgateModule, type AsyncOptions, type ModuleOptions } from './tollgate.module.js';
export { TollgateService } from './tollgate.service.js';
