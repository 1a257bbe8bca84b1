import { DataSource, type DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from '#migrations';
import { ApiTokenEntity } from './api-token.entity.js';
import { AuditEntity } from './audit.entity.js';
import { DefaultRulesVersionEntity } from './default-rules-version.entity.js';
import { DeletedMerchantEntity } from './deleted-merchant.entity.js';
import { ImpatientClient } from './impatient-client.js';
import { MerchantEntity } from './merchant.entity.js';
import { OutboxEntity } from './outbox.entity.js';
import { RuleEntity } from './rule.entity.js';

export interface DataSourceSettings {
  /** Connections at most; 10 unless given. */
  readonly poolSize?: number;
  /** What PostgreSQL calls these connections in pg_stat_activity. */
  readonly applicationName?: string;
  /** Milliseconds that one statement may take, 3,000 unless given; 0 sets no bound. */
  readonly statementTimeoutMs?: number;
}

/** Waiting for a connection, be it for a new one or for a free one of the pool. */
const CONNECT_TIMEOUT_MS = 3_000;

/** A quiet connection asks so often whether the other side is still there; Node's own first question comes after two hours. */
const KEEP_ALIVE_MS = 10_000;

/** A process that stalls inside a transaction, or is cut off there, must not keep a merchant locked. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/** A statement is ended by the server; only when that fails too (a frozen server, a cut line) is the connection given up. */
const SERVER_HEAD_START_MS = 1_000;

/** The database of the rules, not yet connected. Call `connectWhenUp` or `initialize`. */
export function createDataSource(
  url: string,
  { poolSize = 10, applicationName = 'tollgate', statementTimeoutMs = 3_000 }: DataSourceSettings = {},
): DataSource {
  const options: DataSourceOptions = {
    type: 'postgres',
    url,
    poolSize,
    applicationName,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    installExtensions: false,
    synchronize: false,
    logging: false,
    entities: [MerchantEntity, RuleEntity, DefaultRulesVersionEntity, DeletedMerchantEntity, AuditEntity, OutboxEntity, ApiTokenEntity],
    migrations: MIGRATIONS,
    // An idle connection that breaks is replaced at its next use; there is nothing to do about it now.
    poolErrorHandler: () => undefined,
    extra: {
      Client: ImpatientClient,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      siblings: new Set<ImpatientClient>(),
      ...(statementTimeoutMs > 0 && {
        statement_timeout: statementTimeoutMs,
        answerTimeoutMs: statementTimeoutMs + SERVER_HEAD_START_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      }),
    },
  };
  return new DataSource(options);
}
