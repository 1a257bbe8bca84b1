import pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from '#migrations';
import { ApiTokenEntity } from '../tokens/api-token.entity.js';
import { SwitchEntity } from '../rules/switch.entity.js';
import { SwitchVersionEntity } from '../rules/switch-version.entity.js';
import { ApprovalEntity } from '../changes/approval.entity.js';
import { AuditEntity } from '../changes/audit.entity.js';
import { BoundedPool } from './bounded-pool.js';
import { DefaultRulesVersionEntity } from '../rules/default-rules-version.entity.js';
import { DeletedMerchantEntity } from '../merchants/deleted-merchant.entity.js';
import { DeadlineClient } from './deadline-client.js';
import { IdempotencyKeyEntity } from '../changes/idempotency-key.entity.js';
import { MerchantApiKeyEntity } from '../merchants/merchant-api-key.entity.js';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { MerchantLabelEntity } from '../merchants/merchant-label.entity.js';
import { OutboxEntity } from '../webhooks/outbox.entity.js';
import { PathWatch } from './path-watch.js';
import { OverrideEntity } from '../rules/override.entity.js';
import { DeletedPlanEntity, PlanEntity } from '../rules/plan.entity.js';
import { RuleEntity } from '../rules/rule.entity.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';

export interface DataSourceSettings {
  /** The maximum of connections; 10 unless given. */
  readonly poolSize?: number;
  /** So many connections stay open although nobody has needed them for ten seconds, once there were as many; none unless given. */
  readonly keptOpen?: number;
  /** The name of these connections in pg_stat_activity. */
  readonly applicationName?: string;
  /** Milliseconds that one statement may take, 3,000 unless given; 0 sets no bound. */
  readonly statementTimeoutMs?: number;
  /** So many callers at most wait for a connection, the next one gets a PoolBusyError; unbounded unless given. */
  readonly maxWaiting?: number;
  /** Called for each caller that gets a PoolBusyError. */
  readonly onShed?: () => void;
}

/** The longest wait for a connection, a new one or a free one of the pool, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;

/** The idle time before the first TCP keep-alive probe, in milliseconds. The default of Linux is two hours. */
const KEEP_ALIVE_MS = 10_000;

/** PostgreSQL rolls back a transaction that is idle for so many milliseconds, so that a stalled or unreachable process keeps no merchant locked. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/** The server ends a statement first. If it does not answer within so many milliseconds more, the connection is given up. */
const SERVER_HEAD_START_MS = 1_000;

const ENTITIES = [
  MerchantEntity,
  MerchantLabelEntity,
  PlanEntity,
  DeletedPlanEntity,
  RuleEntity,
  DefaultRulesVersionEntity,
  DeletedMerchantEntity,
  AuditEntity,
  OutboxEntity,
  ApiTokenEntity,
  ApprovalEntity,
  WebhookEntity,
  IdempotencyKeyEntity,
  MerchantApiKeyEntity,
  OverrideEntity,
  SwitchEntity,
  SwitchVersionEntity,
];

/** The database of the rules, not yet connected: call `connectWhenUp` or `initialize`. */
export function createDataSource(
  url: string,
  { poolSize = 10, keptOpen = 0, applicationName = 'tollgate', statementTimeoutMs = 3_000, maxWaiting, onShed }: DataSourceSettings = {},
): DataSource {
  const options: DataSourceOptions = {
    type: 'postgres',
    driver: { ...pg, Pool: BoundedPool },
    url,
    poolSize,
    applicationName,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    installExtensions: false,
    synchronize: false,
    logging: false,
    entities: ENTITIES,
    migrations: MIGRATIONS,
    // A broken idle connection is replaced when the pool next needs it.
    poolErrorHandler: () => undefined,
    extra: {
      Client: DeadlineClient,
      min: keptOpen,
      maxWaiting,
      onShed,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pathWatch: new PathWatch(),
      ...(statementTimeoutMs > 0 && {
        statement_timeout: statementTimeoutMs,
        answerTimeoutMs: statementTimeoutMs + SERVER_HEAD_START_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      }),
    },
  };
  return new DataSource(options);
}
