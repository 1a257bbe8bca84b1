import { GATEWAY_VARIABLES } from './gateway-variables.js';
import { wholeNumber, oneOf, storeUrl, adminToken, optionalToken, host, port, expected, LOG_LEVELS, type Variable } from './variable.js';

/** Every environment variable of the apps, in the order in which help texts print them. */
export const VARIABLES = {
  databaseUrl: {
    name: 'DATABASE_URL',
    apps: ['rules-api', 'preloader', 'gateway'],
    secret: true,
    meaning: 'PostgreSQL with the rules, postgres://user:password@host:port/database',
    parse: storeUrl(['postgres:', 'postgresql:'], 'postgres://user:password@127.0.0.1:5432/tollgate'),
  },
  redisUrl: {
    name: 'REDIS_URL',
    apps: ['preloader', 'gateway'],
    secret: true,
    meaning: 'Redis or Valkey with the buckets and snapshots, redis://host:port',
    parse: storeUrl(['redis:', 'rediss:'], 'redis://127.0.0.1:6379'),
  },
  queueRedisUrl: {
    name: 'QUEUE_REDIS_URL',
    apps: ['preloader'],
    defaultFrom: 'redisUrl',
    secret: true,
    meaning: 'Redis for the job queue, when it is not the one with the buckets (it wants the policy noeviction)',
    parse: storeUrl(['redis:', 'rediss:'], 'redis://127.0.0.1:6379'),
  },
  rulesApiPort: {
    name: 'RULES_API_PORT',
    apps: ['rules-api'],
    default: '3000',
    meaning: 'port of the Rules API; 0 takes any free one',
    parse: port,
  },
  rulesApiHost: {
    name: 'RULES_API_HOST',
    apps: ['rules-api'],
    default: '127.0.0.1',
    meaning: 'address on which the Rules API listens; 0.0.0.0 for all, as containers need it',
    parse: host,
  },
  managementHost: {
    name: 'MANAGEMENT_HOST',
    apps: ['preloader', 'gateway'],
    default: '127.0.0.1',
    meaning: 'address on which health and metrics are served; 0.0.0.0 for all, as containers need it',
    parse: host,
  },
  managementToken: {
    name: 'MANAGEMENT_TOKEN',
    apps: ['rules-api', 'preloader', 'gateway'],
    default: '',
    secret: true,
    meaning:
      'bearer token without which metrics and lists of jobs are not shown, at least 16 characters; unset: they are shown to whoever reaches them',
    parse: optionalToken,
  },
  preloaderManagementPort: {
    name: 'PRELOADER_MANAGEMENT_PORT',
    apps: ['preloader'],
    default: '8082',
    meaning: "port of the preloader's health and metrics; 0 takes any free one",
    parse: port,
  },
  adminToken: {
    name: 'TOLLGATE_ADMIN_TOKEN',
    apps: ['rules-api'],
    secret: true,
    meaning: 'bearer token of the administrator of the Rules API, at least 16 characters',
    parse: adminToken,
  },
  tokenHashKey: {
    name: 'TOKEN_HASH_KEY',
    apps: ['rules-api'],
    default: '',
    secret: true,
    meaning:
      'secret with which API tokens are hashed, at least 16 characters; unset: TOLLGATE_ADMIN_TOKEN, so that another admin token makes all API tokens void',
    parse: optionalToken,
  },
  ...GATEWAY_VARIABLES,
  logLevel: {
    name: 'LOG_LEVEL',
    apps: ['rules-api', 'preloader', 'gateway'],
    default: 'info',
    meaning: `the least important level that is logged: ${LOG_LEVELS.join(', ')}`,
    parse: oneOf(LOG_LEVELS),
  },
  dataDir: {
    name: 'TOLLGATE_DATA_DIR',
    apps: ['rules-api', 'preloader', 'gateway'],
    default: '.tollgate',
    meaning: 'folder in which npm start keeps its databases',
    parse: (text: string): string => (text.includes('\0') ? expected('the path of a folder') : text),
  },
  preloadIntervalMs: {
    name: 'PRELOAD_INTERVAL_MS',
    apps: ['preloader'],
    default: '900000',
    meaning: 'milliseconds between two full preloads',
    parse: wholeNumber(10_000, 86_400_000, ' milliseconds'),
  },
  preloadChunkMerchants: {
    name: 'PRELOAD_CHUNK_MERCHANTS',
    apps: ['preloader'],
    default: '1000',
    meaning: 'merchants that a full preload reads and writes at a time',
    parse: wholeNumber(1, 10_000),
  },
  jobLockMs: {
    name: 'JOB_LOCK_MS',
    apps: ['preloader'],
    default: '6000',
    meaning: 'milliseconds without a sign of life after which the job of a dead preloader passes to another one',
    parse: wholeNumber(500, 60_000, ' milliseconds'),
  },
  shutdownGraceMs: {
    name: 'SHUTDOWN_GRACE_MS',
    apps: ['rules-api', 'preloader', 'gateway'],
    default: '10000',
    meaning: 'milliseconds that requests and jobs in flight get to finish after SIGTERM',
    parse: wholeNumber(0, 600_000, ' milliseconds'),
  },
} as const satisfies Record<string, Variable<unknown>>;
