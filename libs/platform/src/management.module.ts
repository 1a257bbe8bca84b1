import {
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Registry } from 'prom-client';
import { BearerToken } from './bearer-token.js';
import type { HttpAppOptions } from './http-app.js';
import { Health } from './health.js';
import { Public } from './public-route.js';

export interface ManagementOptions {
  readonly health: Health;
  readonly registry: Registry;
  /** The bearer token that metrics and lists of jobs require. Undefined: they require none. */
  readonly managementToken?: string | undefined;
}

const MANAGEMENT_TOKEN = Symbol('management token');

/** Protects routes that show internals: a request needs the management token, if one is configured. */
@Injectable()
export class ManagementTokenGuard implements CanActivate {
  constructor(@Inject(MANAGEMENT_TOKEN) private readonly token: BearerToken | null) {}

  canActivate(context: ExecutionContext): boolean {
    const refusal = this.token?.refusal(context.switchToHttp().getRequest<FastifyRequest>().headers.authorization);
    if (refusal) throw refusal;
    return true;
  }
}

const READS: readonly string[] = ['GET', 'HEAD'];

/**
 * Asks for the management token before the body of a request is read, so that a caller without it is told so whatever it sends. Requests without a body are left
 * to the guard, because health needs no token.
 */
export function refusalBeforeBody(managementToken: string | undefined): HttpAppOptions['refusal'] {
  if (managementToken === undefined) return undefined;
  const token = new BearerToken(managementToken);
  return ({ method, headers }) => (READS.includes(method) ? undefined : token.refusal(headers.authorization));
}

/** Health and metrics of one process. Health needs no token, because probes send none. */
@Public()
@Controller()
class ManagementController {
  constructor(
    @Inject(Health) private readonly health: Health,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  /** Liveness: 200 as long as this process can answer, whatever its dependencies do. */
  @Get('healthz')
  healthz(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Readiness: 200 or 503, with the result of every check. */
  @Get('readyz')
  async readyz(@Res() reply: FastifyReply): Promise<void> {
    const readiness = await this.health.readiness();
    await reply.status(readiness.ready ? 200 : 503).send(readiness);
  }

  /** All metrics of this process, in the text format of Prometheus. */
  @Get('metrics')
  @UseGuards(ManagementTokenGuard)
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', this.registry.contentType).send(await this.registry.metrics());
  }
}

@Module({})
export class ManagementModule {
  static register({ health, registry, managementToken }: ManagementOptions): DynamicModule {
    return {
      module: ManagementModule,
      controllers: [ManagementController],
      providers: [
        { provide: Health, useValue: health },
        { provide: Registry, useValue: registry },
        { provide: MANAGEMENT_TOKEN, useValue: managementToken === undefined ? null : new BearerToken(managementToken) },
        ManagementTokenGuard,
      ],
      exports: [MANAGEMENT_TOKEN, ManagementTokenGuard],
    };
  }
}
