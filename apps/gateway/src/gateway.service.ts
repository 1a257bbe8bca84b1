import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Gateway } from './gateway.js';

/** Starts and stops the gateway with the app. */
@Injectable()
export class GatewayService implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(@Inject(Gateway) private readonly gateway: Gateway) {}

  onApplicationBootstrap(): Promise<void> {
    return this.gateway.start();
  }

  /** While health and metrics are still served. */
  beforeApplicationShutdown(): Promise<void> {
    return this.gateway.drain();
  }

  onApplicationShutdown(): Promise<void> {
    return this.gateway.stop();
  }
}
