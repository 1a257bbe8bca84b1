import { parseRedisUrl, type RedisAddress, type RedisTls } from '#addresses';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { readFileSync } from 'node:fs';
import { watchHandshake } from './handshake.js';
import { watchHeartbeat } from './heartbeat.js';
import { failureOf } from './redis-error.js';
import { hearSocketErrors } from './socket-errors.js';
import { tlsFailure } from './tls-failure.js';

/** A connection to one Redis, to the primary of a Sentinel group, or to the masters of a cluster. */
export type RedisConnection = Redis | Cluster;

type FailureOptions = Pick<
  RedisOptions,
  'enableOfflineQueue' | 'maxRetriesPerRequest' | 'autoResendUnfulfilledCommands' | 'autoResubscribe' | 'commandTimeout'
>;

/** What a connection is for decides what it does when Redis is away. */
export type RedisPurpose = 'limiter' | 'queue-producer' | 'queue-worker' | 'subscriber';

const FAIL_AT_ONCE: FailureOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Commands in flight when the connection broke may have run: sending them again would take their tokens twice.
  autoResendUnfulfilledCommands: false,
  // For what has no shorter deadline of its own. As long as the heartbeat needs to replace a dead connection.
  commandTimeout: 5000,
};

const OPTIONS: Record<RedisPurpose, FailureOptions> = {
  limiter: FAIL_AT_ONCE,
  'queue-producer': { enableOfflineQueue: false, maxRetriesPerRequest: 1 },
  'queue-worker': { maxRetriesPerRequest: null },
  subscriber: { autoResubscribe: true, maxRetriesPerRequest: null },
};

/** A server that stays a replica, or loads for minutes, must not be asked for a new connection by every command. */
const REPLACED_AT_MOST_EVERY_MS = 250;

const CONNECT_TIMEOUT_MS = 1000;
/** A Sentinel, or a node that is asked where the slots are, has to answer within this time; then the next one is asked. */
const ANSWER_TIMEOUT_MS = 500;
/** A refusal that another node may know better. One more command than resharding needs at its worst. */
const MOST_REDIRECTIONS = 5;

export interface ConnectionListener {
  /** Told of errors of the connection itself; commands reject on their own. */
  readonly onError?: (error: Error) => void;
}

/**
 * A connection that keeps trying: up to half a second between attempts. It is replaced when nothing comes back on it, and when
 * the server says that it cannot serve, because after a failover another one may be at the same address. Errors of the
 * connection itself go to `onError`; commands reject on their own, and are never sent again for one of ours.
 *
 * @throws RedisUrlError, or that of a file with a certificate which cannot be read
 */
export function createRedis(url: string, purpose: RedisPurpose, { onError = () => {} }: ConnectionListener = {}): RedisConnection {
  const address = parseRedisUrl(url);
  hearSocketErrors();
  const redis = address.kind === 'cluster' ? createCluster(address, purpose) : watched(new Redis(optionsOf(address, purpose)));
  redis.on('error', onError);
  if (address.kind !== 'single') tellOfTls(redis, address);
  return redis;
}

/** Says what is wrong with TLS where the library says of several nodes only that there is no connection: it shows in the handshake with the first. */
function tellOfTls(redis: RedisConnection, address: ClusterAddress | Extract<RedisAddress, { readonly kind: 'sentinel' }>): void {
  const { tls } = address;
  const [node] = address.kind === 'cluster' ? address.nodes : address.sentinels;
  if (tls === undefined || node === undefined) return;
  let asking = false;
  redis.on('error', (error: unknown) => {
    if (asking || failureOf(error).code !== 'DISCONNECTED') return;
    asking = true;
    void tlsFailure({ ...node, ...tlsOptions(tls) }).then((reason) => {
      asking = false;
      if (reason !== undefined && failureOf(reason).code === 'TLS' && redis.status !== 'end') redis.emit('error', reason);
    });
  });
}

/** What has one server at a time. */
type ServerAddress = Exclude<RedisAddress, { readonly kind: 'cluster' }>;
type ClusterAddress = Extract<RedisAddress, { readonly kind: 'cluster' }>;

function optionsOf(address: ServerAddress, purpose: RedisPurpose) {
  const { db } = address;
  const options = { ...commonOptions(address, purpose), retryStrategy, db };
  if (address.kind === 'single') return { ...options, ...address.node } satisfies RedisOptions;
  const { sentinels, group, sentinelLogin, tls } = address;
  return {
    ...options,
    sentinels: sentinels.map((node) => ({ ...node })),
    name: group,
    ...(sentinelLogin.username !== undefined && { sentinelUsername: sentinelLogin.username }),
    ...(sentinelLogin.password !== undefined && { sentinelPassword: sentinelLogin.password }),
    ...(tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(tls) }),
    sentinelCommandTimeout: ANSWER_TIMEOUT_MS,
    sentinelRetryStrategy: retryStrategy,
  } satisfies RedisOptions;
}

/** What a connection to a server has, however the server was found. */
function commonOptions({ kind, login, tls, family }: RedisAddress, purpose: RedisPurpose) {
  let replacedAtMs = -Infinity;
  return {
    connectionName: `tollgate-${purpose}`,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // What was sent on a connection that is being replaced may still be answered by then.
    disconnectTimeout: 250,
    keepAlive: 10_000,
    noDelay: true,
    // `true` replaces the connection and rejects the command; 2 would send it again, and others with it.
    reconnectOnError: (error: Error) => {
      const { code, needsNewConnection } = failureOf(error);
      // A cluster that does not serve a slot does not serve it on another connection either.
      if (!needsNewConnection || (kind === 'cluster' && code === 'CLUSTERDOWN')) return false;
      if (performance.now() - replacedAtMs < REPLACED_AT_MOST_EVERY_MS) return false;
      replacedAtMs = performance.now();
      return true;
    },
    ...(login.username !== undefined && { username: login.username }),
    ...(login.password !== undefined && { password: login.password }),
    ...(family !== undefined && { family }),
    ...(tls !== undefined && { tls: tlsOptions(tls) }),
    ...OPTIONS[purpose],
  } satisfies RedisOptions;
}

/** The certificate is verified in any case. */
function tlsOptions({ caFile, certFile, keyFile, serverName }: RedisTls) {
  return {
    rejectUnauthorized: true,
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(certFile !== undefined && { cert: readFileSync(certFile) }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function retryStrategy(attempt: number): number {
  return Math.min(500, 25 * 2 ** Math.min(attempt, 5));
}

function watched(redis: Redis): Redis {
  watchHandshake(redis);
  watchHeartbeat(redis);
  // BullMQ's workers block on a copy of their connection. A heartbeat would wait behind them; they have a deadline of their own.
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const copy = duplicate(override);
    watchHandshake(copy);
    return copy;
  };
  return redis;
}

/** A cluster's nodes are watched each by itself: one that is frozen does not concern the others. */
function createCluster(address: ClusterAddress, purpose: RedisPurpose): Cluster {
  const cluster = new Cluster(
    address.nodes.map((node) => ({ ...node })),
    clusterOptions(address, purpose),
  );
  watchNodes(cluster, watchHeartbeat);
  const duplicate = cluster.duplicate.bind(cluster);
  cluster.duplicate = (nodes, override) => {
    const copy = duplicate(nodes, override);
    watchNodes(copy, () => {});
    return copy;
  };
  return cluster;
}

function clusterOptions(address: ClusterAddress, purpose: RedisPurpose) {
  // Its commands must not be sent twice: a command whose connection has ended may have been carried out. The queue's may.
  const failsAtOnce = purpose === 'limiter';
  const { enableOfflineQueue = true, ...redisOptions } = commonOptions(address, purpose);
  return {
    redisOptions,
    enableOfflineQueue,
    // Where a part of the slots is away, the others are served.
    enableReadyCheck: false,
    // The name of a node goes into the handshake of TLS, and what it leads to is looked up at each connection.
    dnsLookup: (name: string, found: (error: null, address: string) => void) => found(null, name),
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: ANSWER_TIMEOUT_MS,
    slotsRefreshInterval: 5000,
    ...(failsAtOnce && {
      maxRedirections: MOST_REDIRECTIONS,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 1,
    }),
  } satisfies ClusterOptions;
}

function watchNodes(cluster: Cluster, watchMore: (node: Redis) => void): void {
  const watch = (node: Redis): void => {
    watchHandshake(node);
    watchMore(node);
    // Commands that come while a connection is being made fail: so it is made before they come.
    if (node.options.readOnly !== true) node.connect().catch(() => {});
  };
  for (const node of cluster.nodes()) watch(node);
  cluster.on('+node', watch);
  // Its slots may belong to another node by now.
  cluster.on('-node', () => refreshSlots(cluster));
}

/** Asks the cluster where its slots are, if nobody is asking already. */
export function refreshSlots(cluster: Cluster): void {
  if (cluster.status === 'ready') cluster.refreshSlotsCache(() => {});
}

/** Gives a connection up and opens a new one. What is under way on it fails: it may have been carried out, or not. */
export function reconnect(redis: RedisConnection): void {
  if (!isCluster(redis)) redis.stream?.destroy();
  else if (redis.status === 'ready') redis.disconnect(true);
}

export function isCluster(redis: RedisConnection): redis is Cluster {
  return redis.isCluster;
}
