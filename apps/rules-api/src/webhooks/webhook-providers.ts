import type { Provider } from '@nestjs/common';
import type { Registry } from 'prom-client';
import type { Logger } from '#platform';
import { WebhookDeliveries, WebhookRepository } from '#rules-db';
import type { RulesDatabase } from '../database.js';
import { guardedAgent } from './sending/guarded-agent.js';
import { Sender } from './sending/sender.js';
import { WebhookMetrics } from './sending/webhook-metrics.js';
import { WebhookWorker } from './sending/webhook-worker.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { WEBHOOK_ALLOW_PRIVATE } from './webhooks.service.js';

export interface WebhookOptions {
  /** Whether they may lead to private addresses, and use http. */
  readonly allowPrivate: boolean;
  /** How long a receiver has to answer, in milliseconds. */
  readonly timeoutMs: number;
  /** How long attempts have that are under way when the app ends, in milliseconds. */
  readonly graceMs: number;
}

interface Needed {
  readonly database: RulesDatabase;
  readonly adminToken: string;
  readonly tokenHashKey?: string | undefined;
  readonly logger: Logger;
  readonly registry: Registry;
}

const STRICT: WebhookOptions = { allowPrivate: false, timeoutMs: 10_000, graceMs: 2_000 };

/** What the resource and the deliveries are made of. */
export function webhookProviders({ database, adminToken, tokenHashKey, logger, registry }: Needed, options = STRICT): Provider[] {
  const { allowPrivate, timeoutMs, graceMs } = options;
  const secrets = new WebhookSecrets(tokenHashKey || adminToken);
  const worker = new WebhookWorker({
    deliveries: new WebhookDeliveries(database.dataSource),
    sender: new Sender({ agent: guardedAgent({ allowPrivate }), secrets, timeoutMs }),
    metrics: new WebhookMetrics(registry),
    logger,
    isReady: () => database.isReady,
    graceMs,
  });
  return [
    { provide: WebhookRepository, useValue: new WebhookRepository(database.dataSource) },
    { provide: WebhookSecrets, useValue: secrets },
    { provide: WebhookWorker, useValue: worker },
    { provide: WEBHOOK_ALLOW_PRIVATE, useValue: allowPrivate },
  ];
}
