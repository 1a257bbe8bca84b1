import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Gateway } from './gateway.js';

/** Starts and stops the gateway with the app. */
@Injectable()
export class GatewayService implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(Gateway) private readonly gateway: Gateway) {}

  onApplicationBootstrap(): Promise<void> {
    return this.gateway.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.gateway.stop();
  }
}
