import { jest } from '@jest/globals';
import 'reflect-metadata';
import { Controller, Get } from '@nestjs/common';
import { MetadataScanner, Reflector, type DiscoveryService } from '@nestjs/core';
import { OptionsError } from '../options-error.js';
import { RateLimit, SkipRateLimit } from './rate-limit.decorator.js';
import { TollgateService } from './tollgate.service.js';

const HOUR = { windowMs: 3_600_000 };

@Controller()
@RateLimit({ limit: 10, ...HOUR, cost: 2 })
class Users {
  @Get()
  list(): void {}

  @Get('one')
  @RateLimit({ limit: 5, ...HOUR })
  one(): void {}

  @Get('two')
  @RateLimit({ cost: 3 })
  two(): void {}

  @Get('free')
  @SkipRateLimit()
  free(): void {}
}

@Controller()
@SkipRateLimit()
class Health {
  @Get()
  ready(): void {}

  @Get('deep')
  @SkipRateLimit(false)
  deep(): void {}
}

@Controller()
class Wrong {
  @Get()
  @RateLimit({ limit: -1, ...HOUR })
  get(): void {}
}

@Controller()
@RateLimit({ route: 'all' })
class Named {
  @Get()
  get(): void {}
}

/** Nobody listens there: nothing is asked of it. */
const OPTIONS = { redisUrl: 'redis://127.0.0.1:1', storedRules: false, merchant: 'us', logger: { info: () => {}, warn: () => {} } };

const handlerOf = (controller: { readonly prototype: object }, name: string): (() => void) =>
  (controller.prototype as Record<string, () => void>)[name]!;

const opened: TollgateService[] = [];

function serviceOf(...controllers: object[]): TollgateService {
  const discovery = { getControllers: () => controllers.map((metatype) => ({ metatype })) } as unknown as DiscoveryService;
  const service = new TollgateService(OPTIONS, discovery, new MetadataScanner(), new Reflector());
  opened.push(service);
  return service;
}

afterEach(async () => {
  for (const service of opened.splice(0)) await service.onApplicationShutdown();
});

test('what a handler says goes before what its controller says, and each has buckets of its own', () => {
  const prepare = jest.spyOn(serviceOf().tollgate, 'prepare');
  const [service] = opened as [TollgateService];
  const of = (name: keyof Users) => service.routeOf(Users, handlerOf(Users, name));
  expect(of('list')).toMatchObject({ route: 'Users.list', requests: { cost: 2, merchant: 'us' } });
  expect(of('one')).toMatchObject({ route: 'Users.one', requests: { cost: 2 } });
  expect(of('two')).toMatchObject({ route: 'Users.two', requests: { cost: 3 } });
  expect(of('free')).toEqual({ requests: { skip: true } });
  expect(prepare.mock.calls.map(([{ limit }]) => limit)).toEqual([10, 5, 10]);
  // Once for each handler, however many requests come.
  of('list');
  expect(prepare).toHaveBeenCalledTimes(3);
});

test('a handler of a controller that is skipped can be limited all the same', () => {
  const service = serviceOf();
  expect(service.routeOf(Health, handlerOf(Health, 'ready'))).toEqual({ requests: { skip: true } });
  expect(service.routeOf(Health, handlerOf(Health, 'deep'))).toMatchObject({ route: 'Health.deep' });
});

test.each<[string, object, string]>([
  ['a limit that cannot be meant', Wrong, '@RateLimit() of Wrong.get.limit must be a whole number'],
  ['a name that several handlers would have', Named, '@RateLimit() of the controller of Named.get: route belongs to a handler'],
])('an app with %s does not start', async (_what, controller, message) => {
  const starting = serviceOf(Users, controller).onModuleInit();
  await expect(starting).rejects.toThrow(OptionsError);
  await expect(starting).rejects.toThrow(message);
});
