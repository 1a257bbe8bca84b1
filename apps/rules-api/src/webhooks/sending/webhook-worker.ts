import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#platform';
import type { AttemptOutcome, DueDelivery, WebhookDeliveries } from '#rules-db';
import { withDeadline } from '#waiting';
import type { Sender } from './sender.js';
import type { WebhookMetrics } from './webhook-metrics.js';

/** Attempts of one webhook at once, in each process. */
export const ATTEMPTS_PER_WEBHOOK = 4;

/** Longer than any attempt and what has to be written about it. A delivery whose process has died is attempted again after so long. */
const LEASE_MS = 60_000;
const GRACE_MS = 2_000;
/** To write down what was called off at the end. */
const WRITING_MS = 1_000;
const MAX_WAIT_MS = 10_000;
const TRIM_EVERY_MS = 60_000;
/** A single failure is reported to nobody: it is normal before the database is ready. */
const FAILURES_BEFORE_REPORT = 3;

export interface WebhookWorkerOptions {
  readonly deliveries: WebhookDeliveries;
  readonly sender: Pick<Sender, 'attempt'>;
  readonly metrics: WebhookMetrics;
  readonly logger: Logger;
  /** False while the database cannot be asked. */
  readonly isReady: () => boolean;
  /** The wait after a round that found nothing, in milliseconds. */
  readonly pollMs?: number;
  /** What is under way when it is stopped has so many milliseconds. */
  readonly graceMs?: number;
}

/**
 * Sends what the outbox of webhooks holds. Each webhook has so many attempts at once of its own, so that a receiver that is slow, or does not answer, holds up
 * nobody else. Any number of processes may do this at once.
 */
export class WebhookWorker {
  private readonly stopping = new AbortController();
  /** Aborted when attempts that are still under way have to end. */
  private readonly stopped = new AbortController();
  private readonly underWay = new Map<string, number>();
  private readonly attempts = new Set<Promise<void>>();
  /** Outcomes are written one after the other: requests need the connections more. */
  private writing: Promise<void> = Promise.resolve();
  private running: Promise<void> | undefined;
  private trimAtMs = 0;
  private wake = (): void => undefined;

  constructor(private readonly options: WebhookWorkerOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Takes nothing more, gives what is under way its grace to end, and calls off what is left: it is sent again by whoever is next. */
  async stop(): Promise<void> {
    const { graceMs = GRACE_MS } = this.options;
    this.stopping.abort();
    this.wake();
    await this.running;
    const callOff = setTimeout(() => this.stopped.abort(), graceMs);
    // What cannot be written while PostgreSQL is away is sent again when its lease has ended.
    await withDeadline(Promise.all(this.attempts), graceMs + WRITING_MS).catch(() => undefined);
    clearTimeout(callOff);
  }

  private async run(): Promise<void> {
    const { pollMs = 500, logger, isReady } = this.options;
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      try {
        const isIdle = !isReady() || (await this.round()) === 0;
        if (failures >= FAILURES_BEFORE_REPORT) logger.info('webhooks are delivered again');
        failures = 0;
        if (isIdle) await this.wait(pollMs);
      } catch (err) {
        failures += 1;
        if (failures === FAILURES_BEFORE_REPORT) logger.warn({ err }, 'webhooks cannot be delivered, events wait in the outbox');
        await this.wait(Math.min(MAX_WAIT_MS, pollMs * 2 ** Math.min(failures, 10)));
      }
    }
  }

  /** @returns how much was found to do */
  private async round(): Promise<number> {
    const { deliveries } = this.options;
    await this.trim();
    const routed = await deliveries.route();
    const due = await deliveries.claim(ATTEMPTS_PER_WEBHOOK, this.underWay, LEASE_MS);
    for (const delivery of due) this.begin(delivery);
    return routed + due.length;
  }

  private begin(delivery: DueDelivery): void {
    const { webhookId } = delivery;
    this.underWay.set(webhookId, (this.underWay.get(webhookId) ?? 0) + 1);
    this.options.metrics.underWay.inc();
    const attempt = this.attempt(delivery).finally(() => {
      this.attempts.delete(attempt);
      this.options.metrics.underWay.dec();
      const left = this.underWay.get(webhookId)! - 1;
      if (left === 0) this.underWay.delete(webhookId);
      else this.underWay.set(webhookId, left);
      this.wake();
    });
    this.attempts.add(attempt);
  }

  private async attempt(delivery: DueDelivery): Promise<void> {
    const { sender, metrics, logger } = this.options;
    const outcome = await sender.attempt(delivery, this.stopped.signal);
    try {
      await this.write(delivery, outcome);
    } catch (err) {
      logger.warn({ err, deliveryId: delivery.id }, 'what became of a webhook delivery could not be written; it will be sent again');
      return;
    }
    metrics.count(outcome);
    if (outcome.state !== 'dead') return;
    const { webhookId, id: deliveryId, messageId, event } = delivery;
    logger.warn(
      { webhookId, deliveryId, messageId, event, status: outcome.status, error: outcome.error },
      'a webhook delivery has failed in every attempt; it can be retried by hand',
    );
  }

  private write(delivery: DueDelivery, outcome: AttemptOutcome): Promise<void> {
    const write = this.writing.then(() => this.options.deliveries.settle(delivery, outcome));
    this.writing = write.catch(() => undefined);
    return write;
  }

  private async trim(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.trimAtMs) return;
    this.trimAtMs = nowMs + TRIM_EVERY_MS;
    const { givenUp, isDone } = await this.options.deliveries.trim();
    if (!isDone) this.trimAtMs = 0;
    if (givenUp === 0) return;
    this.options.metrics.count({ state: 'dead' }, givenUp);
    this.options.logger.warn({ deliveries: givenUp }, 'webhook deliveries were given up, because too many wait for their receiver');
  }

  /** Until something may be to do: time has passed, or an attempt has ended. */
  private async wait(ms: number): Promise<void> {
    const woken = new AbortController();
    this.wake = () => woken.abort();
    await sleep(ms, undefined, { signal: AbortSignal.any([woken.signal, this.stopping.signal]) }).catch(() => undefined);
  }
}
