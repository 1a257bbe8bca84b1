import { Inject, Injectable } from '@nestjs/common';
import { type MerchantLabel, MerchantNotFoundError, type MerchantReach, MerchantRepository, RuleReader } from '#rules-db';
import { addUsage, HOUR_MS, LiveReports, MINUTE_MS, USAGE_KEPT_MS, type UsageStep } from '../buckets/live-reports.js';
import { decodeCursor, encodeCursor, filteredList, type Page, toPage } from '../pagination/page.js';
import type { RankedView, TopQueryDto, UsageQueryDto, UsageTop, UsageView } from './usage.dto.js';

/** Counts of a rule, in one step or altogether. */
type Counts = Omit<UsageStep, 'atMs'>;

/** Those of a rule of a merchant. */
type Ranked = Counts & { readonly merchantId: string };

interface Wanted {
  readonly rank: 'refused' | 'near';
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Half of the candidates may turn out to belong to another rank. */
const CANDIDATES_PER_ITEM = 2;

/** Hours of rules that one question reads, each a text of a kilobyte or two: enough for as many candidates as a rank has places, over a whole day. */
const MOST_HOURS_READ = 5_200;
const NEAR_PERCENT = 50;

/** What became of the requests of merchants within the last day, as gateways have counted it. */
@Injectable()
export class UsageService {
  constructor(
    @Inject(RuleReader) private readonly rules: RuleReader,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(LiveReports) private readonly reports: LiveReports,
  ) {}

  /** @throws MerchantNotFoundError, ProblemError */
  async ofMerchant(merchantId: string, { since, step, size, cursor }: UsageQueryDto): Promise<Page<UsageView>> {
    const list = filteredList('usage', { merchantId, step });
    const after = cursor === undefined ? undefined : decodeCursor(list, cursor, isPlace);
    const names = await this.ruleNames(merchantId);
    const stepMs = step === 'hour' ? HOUR_MS : MINUTE_MS;
    const nowMs = await this.reports.nowMs();
    const fromMs = Math.max(startOf(since, nowMs, step === 'hour' ? USAGE_KEPT_MS : HOUR_MS, stepMs), after?.[0] ?? 0);
    const steps = (await this.reports.usageOf([merchantId], fromMs, nowMs + 1)).get(merchantId) ?? [];
    const rows = (step === 'hour' ? byHour(steps) : steps).filter((row) => after === undefined || comesAfter(row, after));
    const view = ({ atMs, ruleId, ...counts }: UsageStep): UsageView => ({
      at: new Date(atMs).toISOString(),
      ruleId,
      rule: names.get(ruleId) ?? null,
      ...numbersOf(counts),
    });
    return toPage(rows.slice(0, size + 1), size, view, ({ atMs, ruleId }) => encodeCursor(list, [atMs, ruleId]));
  }

  /** @param among the merchants to which the bearer is limited; null: all */
  async top({ by, since, limit }: TopQueryDto, among: MerchantReach): Promise<UsageTop> {
    const nowMs = await this.reports.nowMs();
    const fromMs = startOf(since, nowMs, HOUR_MS, MINUTE_MS);
    const rank = by === 'refused' ? 'refused' : 'near';
    const most = Number(limit);
    const wanted = { rank, fromMs, untilMs: nowMs + 1 } as const;
    const [all, others] = await Promise.all([
      among === null || 'key' in among ? this.ofCandidates(wanted, most, among) : this.ofMerchants(among, wanted),
      among === null ? this.reports.usageOfOthers(fromMs, nowMs + 1) : null,
    ]);
    const ranked = rank === 'refused' ? mostRefused(all) : nearest(all);
    return {
      since: new Date(fromMs).toISOString(),
      items: ranked.slice(0, most).map(({ merchantId, ruleId, ...counts }): RankedView => ({ merchantId, ruleId, ...numbersOf(counts) })),
      other: others && numbersOf(sumOf(others)),
    };
  }

  /** The numbers of those that probably come first. */
  private async ofCandidates({ rank, fromMs, untilMs }: Wanted, most: number, label: MerchantLabel | null): Promise<Ranked[]> {
    const hours = Math.ceil(untilMs / HOUR_MS) - Math.floor(fromMs / HOUR_MS);
    const candidates = Math.min(CANDIDATES_PER_ITEM * most, Math.floor(MOST_HOURS_READ / hours));
    // Those of a label may stand behind any number of others.
    const ranked = await this.reports.ranked(rank, fromMs, untilMs, label === null ? candidates : Infinity);
    const rules = label === null ? ranked : (await this.merchants.ofLabelled(ranked, label)).slice(0, candidates);
    const steps = await this.reports.usageOfRules(rules, fromMs, untilMs);
    return rules.flatMap(({ merchantId }, i) => byRule(steps[i]!).map((counts) => ({ merchantId, ...counts })));
  }

  /** Those of a few merchants, all of them. */
  private async ofMerchants(merchantIds: readonly string[], { fromMs, untilMs }: Wanted): Promise<Ranked[]> {
    const found = await this.reports.usageOf([...new Set(merchantIds)], fromMs, untilMs);
    return [...found].flatMap(([merchantId, steps]) => byRule(steps).map((counts) => ({ merchantId, ...counts })));
  }

  private async ruleNames(merchantId: string): Promise<Map<string, string>> {
    const snapshot = await this.rules.snapshot(merchantId);
    if (!snapshot?.exists) throw new MerchantNotFoundError(merchantId);
    const [{ rules: defaults }, plan] = await Promise.all([
      this.rules.defaultRules(),
      snapshot.plan === undefined ? undefined : this.rules.plan(snapshot.plan),
    ]);
    return new Map([...snapshot.rules, ...(plan?.rules ?? []), ...defaults].map(({ id, name }) => [id, name]));
  }
}

/** The beginning of the step in which what is asked for begins, but not longer ago than counts are kept. */
function startOf(since: string | undefined, nowMs: number, usualMs: number, stepMs: number): number {
  const wantedMs = since === undefined ? nowMs - usualMs : Date.parse(since);
  return Math.floor(Math.max(wantedMs, nowMs - USAGE_KEPT_MS) / stepMs) * stepMs;
}

function byHour(steps: readonly UsageStep[]): UsageStep[] {
  const hours = new Map<number, UsageStep[]>();
  for (const step of steps) {
    const hour = Math.floor(step.atMs / HOUR_MS);
    const ofHour = hours.get(hour);
    if (ofHour) ofHour.push(step);
    else hours.set(hour, [step]);
  }
  return [...hours].flatMap(([hour, ofHour]) => byRule(ofHour).map((counts) => ({ ...counts, atMs: hour * HOUR_MS })));
}

/** Steps added up, in the order of the rules. */
function byRule(steps: readonly UsageStep[]): Counts[] {
  const rules = new Map<string, Counts>();
  for (const { atMs: _, ...counts } of steps) {
    const before = rules.get(counts.ruleId);
    if (before === undefined) rules.set(counts.ruleId, counts);
    else addUsage(before, counts);
  }
  return [...rules.values()].sort((a, b) => compareIds(a.ruleId, b.ruleId));
}

function sumOf(steps: readonly UsageStep[]): Omit<Counts, 'ruleId'> {
  const sum = { passed: 0, refused: 0, shadowRefused: 0, leastPercent: 100 };
  for (const step of steps) addUsage(sum, step);
  return sum;
}

function mostRefused<T extends Counts>(all: readonly T[]): T[] {
  return all.filter(({ refused }) => refused > 0).sort((a, b) => b.refused - a.refused);
}

function nearest<T extends Counts>(all: readonly T[]): T[] {
  return all
    .filter(({ refused, leastPercent }) => refused === 0 && leastPercent <= NEAR_PERCENT)
    .sort((a, b) => a.leastPercent - b.leastPercent || b.passed - a.passed);
}

function numbersOf({ passed, refused, shadowRefused, leastPercent }: Omit<Counts, 'ruleId'>) {
  return { passed, refused, shadowRefused, leastRemainingPercent: leastPercent };
}

function comesAfter({ atMs, ruleId }: UsageStep, [afterMs, afterRule]: [number, string]): boolean {
  return atMs > afterMs || (atMs === afterMs && compareIds(ruleId, afterRule) > 0);
}

/** Ids are decimal numbers, the older the smaller. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function isPlace(values: readonly unknown[]): values is [number, string] {
  const [atMs, ruleId] = values;
  return values.length === 2 && Number.isSafeInteger(atMs) && (atMs as number) >= 0 && typeof ruleId === 'string' && ruleId.length <= 20;
}
