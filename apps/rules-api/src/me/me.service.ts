import { Inject, Injectable } from '@nestjs/common';
import { Allowances, type BucketReading, capacityOf, type Limit, quotaWindowMs, reserveOf, type Rule, withheldOf } from '#limiter';
import { ProblemError } from '#platform';
import { BucketsService } from '../buckets/buckets.service.js';
import { HOUR_MS, LiveReports, USAGE_KEPT_MS, type UsageStep } from '../buckets/live-reports.js';
import { isShared, type NamedBucket } from '../buckets/merchant-buckets.js';
import type { Page } from '../pagination/page.js';
import type { MyLimitsQueryDto, MyLimitView, MyUsageView } from './me.dto.js';

/** How often a merchant may ask at once, and how soon once more. Each answer costs a look into PostgreSQL, and one into Redis for each limit. */
const AT_ONCE = 20;
const EVERY_MS = 500;
const MOST_MERCHANTS = 100_000;

/** What a merchant sees of itself. */
@Injectable()
export class MeService {
  private readonly allowances = new Allowances({ capacity: AT_ONCE, refillTokens: 1, refillIntervalMs: EVERY_MS, most: MOST_MERCHANTS });

  constructor(
    @Inject(BucketsService) private readonly buckets: BucketsService,
    @Inject(LiveReports) private readonly reports: LiveReports,
  ) {}

  async limits(merchantId: string, query: MyLimitsQueryDto): Promise<Page<MyLimitView>> {
    if (this.allowances.take(merchantId) !== 0) throw tooOften();
    const usage = await this.usage(merchantId);
    return this.buckets.page(merchantId, query, isForMerchant, (named, reading) => limitView(named, reading, usage(named.rule.id)));
  }

  /** By the id of a rule. */
  private async usage(merchantId: string): Promise<(ruleId: string) => MyUsageView> {
    const nowMs = await this.reports.nowMs();
    const steps = (await this.reports.usageOf([merchantId], nowMs - USAGE_KEPT_MS, nowMs + 1)).get(merchantId) ?? [];
    return (ruleId) => {
      const ofRule = steps.filter((step) => step.ruleId === ruleId);
      return { lastHour: sumOf(ofRule.filter(({ atMs }) => atMs > nowMs - HOUR_MS)), lastDay: sumOf(ofRule) };
    };
  }
}

/** A shadow rule refuses nothing and is nobody's business yet; a bucket of several merchants would tell one what the others do. */
function isForMerchant(named: NamedBucket): boolean {
  return named.rule.mode !== 'shadow' && !isShared(named);
}

function limitView({ rule, limit, needs }: NamedBucket, reading: BucketReading | undefined, usage: MyUsageView): MyLimitView {
  const { methods, paths } = rule.match;
  return {
    ruleId: rule.id,
    limit: limit.name,
    algorithm: limit.algorithm,
    methods,
    paths,
    quota: capacityOf(limit),
    windowMs: windowMsOf(limit),
    needs,
    remaining: reading?.remaining ?? null,
    resetAfterMs: reading?.resetAfterMs ?? null,
    blockedForMs: reading?.blockedForMs ?? null,
    usage,
    ...reserveView(rule, limit),
  };
}

function reserveView({ reserve }: Rule, limit: Limit): Pick<MyLimitView, 'reserve'> {
  const reserved = reserveOf(reserve);
  if (reserved === undefined) return {};
  const routes = reserve!.map(({ methods = [], paths = [] }) => ({ methods, paths }));
  return { reserve: { quota: withheldOf(limit, reserved.percent), routes } };
}

function sumOf(steps: readonly UsageStep[]): MyUsageView['lastDay'] {
  const sum = { passed: 0, refused: 0 };
  for (const { passed, refused } of steps) {
    sum.passed += passed;
    sum.refused += refused;
  }
  return sum;
}

function windowMsOf(limit: Limit): number | null {
  if (limit.algorithm === 'concurrency') return null;
  const windowMs = Math.ceil(quotaWindowMs(limit));
  return Number.isSafeInteger(windowMs) ? windowMs : null;
}

function tooOften(): ProblemError {
  return new ProblemError({
    status: 429,
    type: 'quota-exceeded',
    code: 'me.too_often',
    detail: `a merchant may ask for its own limits ${AT_ONCE} times at once, then ${1000 / EVERY_MS} times a second`,
    headers: { 'retry-after': '1' },
  });
}
