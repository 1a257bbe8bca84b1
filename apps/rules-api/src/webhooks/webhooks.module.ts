import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WebhookWorker } from './sending/webhook-worker.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksService } from './webhooks.service.js';

/** Starts and stops the deliveries with the app. */
@Injectable()
class WebhookWorkerLife implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(WebhookWorker) private readonly worker: WebhookWorker) {}

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.worker.stop();
  }
}

@Module({ controllers: [WebhooksController], providers: [WebhooksService, WebhookWorkerLife] })
export class WebhooksModule {}
