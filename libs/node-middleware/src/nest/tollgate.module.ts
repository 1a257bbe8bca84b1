import {
  type DynamicModule,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import type { TollgateOptions } from '../options.js';
import { TollgateGuard } from './tollgate.guard.js';
import { TOLLGATE_OPTIONS, TollgateService } from './tollgate.service.js';

/** How the module is used, beside what Tollgate does. */
export interface ModuleOptions {
  /** Whether all handlers are guarded; true unless given. Otherwise `@UseGuards(TollgateGuard)` says which. */
  readonly forAllRoutes?: boolean;
}

export interface AsyncOptions extends ModuleOptions, Pick<ModuleMetadata, 'imports'> {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Nest has it: what is injected
  readonly useFactory: (...args: any[]) => TollgateOptions | Promise<TollgateOptions>;
}

/** Limits for a Nest app, on Express or on Fastify. */
@Module({})
export class TollgateModule {
  /** An app with options that cannot be meant does not start. */
  static forRoot({ forAllRoutes, ...options }: TollgateOptions & ModuleOptions): DynamicModule {
    return dynamicModule({ provide: TOLLGATE_OPTIONS, useValue: options }, { forAllRoutes });
  }

  static forRootAsync({ imports = [], inject = [], useFactory, forAllRoutes }: AsyncOptions): DynamicModule {
    return dynamicModule({ provide: TOLLGATE_OPTIONS, useFactory, inject }, { forAllRoutes, imports });
  }
}

function dynamicModule(
  options: Provider,
  { forAllRoutes = true, imports = [] }: { forAllRoutes?: boolean | undefined; imports?: ModuleMetadata['imports'] },
): DynamicModule {
  const guard: Provider[] = forAllRoutes ? [{ provide: APP_GUARD, useExisting: TollgateGuard }] : [];
  return {
    module: TollgateModule,
    global: true,
    imports: [DiscoveryModule, ...(imports ?? [])],
    providers: [options, TollgateService, TollgateGuard, ...guard],
    exports: [TollgateService, TollgateGuard],
  };
}
