import { Controller, type DynamicModule, Get, Inject, Module, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { Registry } from 'prom-client';
import { Health } from './health.js';
import { Public } from './public-route.js';

export interface ManagementOptions {
  readonly health: Health;
  readonly registry: Registry;
}

/** Health and metrics of one process. */
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
    await reply.status(readiness.ready ? 200 : 503).header('cache-control', 'no-store').send(readiness);
  }

  /** Everything this process counts, in the text format of Prometheus. */
  @Get('metrics')
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', this.registry.contentType).send(await this.registry.metrics());
  }
}

@Module({})
export class ManagementModule {
  static register({ health, registry }: ManagementOptions): DynamicModule {
    return {
      module: ManagementModule,
      controllers: [ManagementController],
      providers: [
        { provide: Health, useValue: health },
        { provide: Registry, useValue: registry },
      ],
    };
  }
}
