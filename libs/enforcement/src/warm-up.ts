import type { RateLimiter } from '#limiter';
import { loadScripts, readBusyMerchants, type OnUnreadable, type RedisConnection } from '#limiter-redis';
import { withDeadline } from '#waiting';
import { NOBODIES, rehearsed } from './rehearsal.js';
import { rehearseOutage } from './rehearsed-outage.js';
import type { RuleCache } from './rules/rule-cache.js';
import type { RuleSourceConnection } from './rules/rule-source.js';

export interface WarmUpOptions {
  readonly redis: RedisConnection;
  /** With the snapshots; perhaps the same. */
  readonly snapshotRedis: RedisConnection;
  readonly rules: Pick<RuleCache, 'load' | 'loadDefaults'>;
  /** Undefined: there is none. */
  readonly ruleSource: Pick<RuleSourceConnection, 'rehearse'> | undefined;
  readonly limiter: Pick<RateLimiter, 'check'>;
  /** Resolves when rules can be read that need not be read again: see ChangeFeed. */
  readonly changesKnown: Promise<void>;
  readonly signal: AbortSignal;
  /** Told of a list of busy merchants that is none. */
  readonly onUnreadable?: OnUnreadable;
  /** Milliseconds of running time. */
  readonly connectWithinMs?: number;
  readonly warmWithinMs?: number;
}

export interface WarmUpOutcome {
  /** False: Redis did not answer, so there was nothing to warm up with. */
  readonly redisAnswered: boolean;
  /** How many merchants' rules have been read. */
  readonly merchants: number;
  readonly decisions: number;
}

/** Rules read at once, so that the first ones are not held up by the last. */
const RULES_AT_ONCE = 50;
const ROUNDS = 10;
const DECISIONS_A_ROUND = 40;

/**
 * What an enforcer does before it is open, so that its first requests meet connections that are made, scripts that Redis
 * knows, rules that are read, and code that is compiled. Never rejects, and is bounded in time: a Redis that is away must not
 * keep an enforcer from acting by its rules.
 */
export async function warmUp(options: WarmUpOptions): Promise<WarmUpOutcome> {
  const { redis, connectWithinMs = 1000, warmWithinMs = 2000 } = options;
  const progress = { redisAnswered: false, merchants: 0, decisions: 0 };
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  rehearseOutage();
  try {
    await withDeadline(connected(redis, signal), connectWithinMs);
    progress.redisAnswered = true;
    await withDeadline(prepare(options, signal, progress), warmWithinMs);
  } catch {
    // What is missing then is read and compiled with the first requests.
  } finally {
    over.abort();
  }
  return { ...progress };
}

async function prepare(options: WarmUpOptions, signal: AbortSignal, progress: { merchants: number; decisions: number }): Promise<void> {
  const { redis, snapshotRedis, rules, ruleSource, limiter } = options;
  await options.changesKnown;
  const [busy] = await Promise.all([
    readBusyMerchants(snapshotRedis, options.onUnreadable),
    ...[...new Set([redis, snapshotRedis])].map(loadScripts),
    // Where everything starts together, the tables may not be there yet. The enforcer goes on trying; the rehearsal needs no default rules.
    rules.loadDefaults().catch(() => {}),
  ]);
  for (let i = 0; i < busy.length && !signal.aborted; i += RULES_AT_ONCE) {
    const ids = busy.slice(i, i + RULES_AT_ONCE);
    const read = await Promise.allSettled(ids.map((id) => rules.load(id)));
    progress.merchants += read.filter(({ status }) => status === 'fulfilled').length;
  }
  // Redis has no rules for them, so the rule source is asked, too.
  await Promise.allSettled(NOBODIES.map((id) => rules.load(id)));
  await ruleSource?.rehearse?.().catch(() => {});
  for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
    await Promise.all(Array.from({ length: DECISIONS_A_ROUND }, () => decide(limiter)));
    progress.decisions += DECISIONS_A_ROUND;
  }
}

function decide(limiter: Pick<RateLimiter, 'check'>): Promise<void> {
  const { rules, descriptor } = rehearsed();
  return new Promise((resolve) => limiter.check(rules, descriptor, () => resolve()));
}

/** Resolves when the connection can be used; a first attempt may fail where Redis is started together with the gateway. */
function connected(redis: RedisConnection, signal: AbortSignal): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve();
  if (signal.aborted) return Promise.reject(new Error('no longer wanted'));
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      redis.off('ready', onReady);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onReady = end(resolve);
    const onAbort = end(() => reject(new Error('no longer wanted')));
    redis.once('ready', onReady);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
