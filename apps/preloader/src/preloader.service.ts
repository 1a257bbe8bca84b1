import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Preloader } from './preloader.js';

/** Starts and stops the preloader with the app. */
@Injectable()
export class PreloaderService implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(Preloader) private readonly preloader: Preloader) {}

  onApplicationBootstrap(): void {
    this.preloader.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.preloader.stop();
  }
}
