import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Health } from '#platform';

/** How often the answer of the health protocol is brought up to date. */
const LOOK_EVERY_MS = 1_000;

/** The health protocol of gRPC says what the status of /readyz says, for each service and for the whole: a check that is not required changes neither. */
export class GrpcHealth {
  private readonly implementation: HealthImplementation;
  private timer: NodeJS.Timeout | undefined;
  private looking = false;
  private told = false;

  /** @param services whose health may be asked; the empty name is the whole */
  constructor(
    private readonly health: Pick<Health, 'readiness'>,
    private readonly services: readonly string[],
  ) {
    this.implementation = new HealthImplementation(Object.fromEntries(['', ...services].map((name) => [name, 'NOT_SERVING'])));
  }

  addTo(server: Pick<Server, 'addService'>): void {
    this.implementation.addToServer(server as Parameters<HealthImplementation['addToServer']>[0]);
  }

  async start(): Promise<void> {
    await this.look();
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
  }

  /** From now on nothing is served, whatever is asked. */
  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.tell(false);
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    const { ready } = await this.health.readiness();
    this.looking = false;
    this.tell(ready);
  }

  /** Whoever watches hears of changes, not of looks. */
  private tell(ready: boolean): void {
    if (ready === this.told) return;
    this.told = ready;
    for (const name of ['', ...this.services]) this.implementation.setStatus(name, ready ? 'SERVING' : 'NOT_SERVING');
  }
}
