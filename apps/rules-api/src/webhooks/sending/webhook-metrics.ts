import { Counter, Gauge, type Registry } from 'prom-client';
import type { AttemptOutcome } from '#rules-db';

/** What becomes of deliveries. No webhook is ever a label. */
export class WebhookMetrics {
  readonly underWay: Gauge;
  private readonly attempts: Counter<'outcome'>;

  constructor(registry: Registry) {
    this.attempts = new Counter({
      name: 'tollgate_webhook_attempts_total',
      help: 'Attempts to deliver an event to a webhook: delivered, failed (there will be another one), dead (there will be none)',
      labelNames: ['outcome'],
      registers: [registry],
    });
    for (const outcome of ['delivered', 'failed', 'dead']) this.attempts.inc({ outcome }, 0);
    this.underWay = new Gauge({
      name: 'tollgate_webhook_attempts_under_way',
      help: 'Attempts to deliver an event that are not over yet',
      registers: [registry],
    });
  }

  count({ state }: Pick<AttemptOutcome, 'state'>, times = 1): void {
    if (state !== 'released') this.attempts.inc({ outcome: state }, times);
  }
}
