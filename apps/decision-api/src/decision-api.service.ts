import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DecisionApi } from './decision-api.js';

/** Starts and stops the decision API with the app. */
@Injectable()
export class DecisionApiService implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(@Inject(DecisionApi) private readonly api: DecisionApi) {}

  onApplicationBootstrap(): Promise<void> {
    return this.api.start();
  }

  /** While health and metrics are still served. */
  beforeApplicationShutdown(): Promise<void> {
    return this.api.drain();
  }

  onApplicationShutdown(): Promise<void> {
    return this.api.stop();
  }
}
