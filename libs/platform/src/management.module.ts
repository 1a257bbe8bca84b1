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
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { Registry } from 'prom-client';
import { BearerToken } from './bearer-token.js';
import { Health } from './health.js';
import { Public } from './public-route.js';

export interface ManagementOptions {
  readonly health: Health;
  readonly registry: Registry;
  /** What is told to those alone who send it; nothing: to everybody. */
  readonly managementToken?: string | undefined;
}

const MANAGEMENT_TOKEN = Symbol('management token');

/** On routes that tell of the inside: lets pass who sends the management token, or everybody where there is none. */
@Injectable()
export class ManagementTokenGuard implements CanActivate {
  constructor(@Inject(MANAGEMENT_TOKEN) private readonly token: BearerToken | null) {}

  canActivate(context: ExecutionContext): boolean {
    const refusal = this.token?.refusal(context.switchToHttp().getRequest<FastifyRequest>().headers.authorization);
    if (refusal) throw refusal;
    return true;
  }
}

/** Health and metrics of one process. Health is for probes, which carry no token. */
@Public()
@Controller()
class ManagementController {
  constructor(
    @Inject(Health) private readonly health: Health,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  /** Alive: this process can answer. It says nothing about the parts it needs. */
  @Get('healthz')
  healthz(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Ready: 200, or 503 with the checks that failed. */
  @Get('readyz')
  async readyz(@Res() reply: FastifyReply): Promise<void> {
    const readiness = await this.health.readiness();
    await reply.status(readiness.ready ? 200 : 503).send(readiness);
  }

  /** Everything this process counts, in the text format of Prometheus. */
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
