import { Inject, Injectable } from '@nestjs/common';
import type { Rule } from '#limiter';
import { ProblemError } from '#platform';
import {
  MAX_RULES_PER_OWNER,
  MerchantNotFoundError,
  type MerchantReach,
  MerchantRepository,
  type RuleEntity,
  RuleNotFoundError,
  type RuleOwner,
  RuleRepository,
} from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { LiveReports } from '../buckets/live-reports.js';
import { badBody } from '../http/validation.pipe.js';
import { unreadableRule, UnreadableRules } from '../rules/unreadable-rules.js';
import { type Alternatives, alternatives, DRAFT_ID, type DraftShadowing, shadowingOfDraft, type Standing } from './draft.js';
import type { Preview, PreviewDto, RecordedSampleView, ReplayView } from './preview.dto.js';
import { type RecordedSample, recordedSample } from './recorded-sample.js';
import { replay, type ReplayResult, type RuleSet } from './replay.js';
import { RECORDED, readSample, type SampleRow } from './sample.js';

/** For as long a preview is worked at, its turns among other work included, in milliseconds. */
const DEADLINE_MS = 10_000;

/** Each has a sample in memory, and all share one processor with the other calls. */
const MAX_AT_ONCE = 2;

/** How far a replay has come. */
export interface PreviewProgress {
  readonly replayed: number;
  readonly of: number;
}

/** What a draft of a rule would change. Nothing is written, and no live bucket is asked. */
@Injectable()
export class PreviewService {
  private running = 0;

  constructor(
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
    @Inject(LiveReports) private readonly reports: LiveReports,
  ) {}

  /**
   * Yields how far it has come, and returns the answer. It stops where its caller stops asking.
   * @param among the merchants to which the bearer is limited; null: all
   * @throws MerchantNotFoundError, RuleNotFoundError, ProblemError; with the first step
   */
  async *preview(body: PreviewDto, among: MerchantReach): AsyncGenerator<PreviewProgress, Preview> {
    demandAmong(body.merchantId, await this.merchants.narrowed(among, [body.merchantId]));
    if (this.running >= MAX_AT_ONCE) throw busy();
    this.running++;
    try {
      const endAtMs = performance.now() + DEADLINE_MS;
      const standing = await this.standing(body.merchantId);
      const { rule, ruleId, sample } = body;
      const replaced = ruleId === undefined ? undefined : ruleIn(standing, ruleId);
      const bothAt = (atMs: number) => alternatives(standing, rule, replaced, atMs);
      const recorded = sample === RECORDED ? await recordedSample(this.reports, body.merchantId, rulesOf(bothAt(0))) : undefined;
      const rows = recorded?.rows ?? (sample === undefined ? [] : await readSample(sample));
      const both = bothAt(rows[0]?.atMs ?? 0);
      if (recorded === undefined) demandAddresses(both.then, rows);
      const shadowing = shadowingOfDraft(both, rule, Date.now());
      if (rows.length === 0) return answer(shadowing);
      const found = yield* counted(replay(rows, both, { endAtMs }), rows.length);
      return answer(shadowing, { replay: replayView(found, both.then), ...(recorded && { sample: sampleView(recorded) }) });
    } finally {
      this.running--;
    }
  }

  private async standing(merchantId: string): Promise<Standing> {
    const merchant = await this.merchants.find(merchantId);
    if (!merchant) throw new MerchantNotFoundError(merchantId);
    const { plan: planName, timeZone } = merchant;
    const [own, plan, defaults] = await Promise.all([
      this.rulesOf(merchantId),
      planName === null ? undefined : this.rulesOf({ plan: planName }),
      this.rulesOf(null),
    ]);
    return { merchantId, timeZone, own, plan, defaults };
  }

  private async rulesOf(owner: RuleOwner): Promise<RuleEntity[]> {
    return (await this.rules.list(owner, { limit: MAX_RULES_PER_OWNER })).map(this.readable);
  }

  /** Without a rule that cannot be read nothing can be said. */
  private readonly readable = (rule: RuleEntity): RuleEntity => {
    const fault = this.unreadable.faultOf(rule);
    if (fault !== undefined) throw unreadableRule(rule, fault);
    return rule;
  };
}

/** @throws RuleNotFoundError if it is neither a rule of the merchant nor of its plan nor a default one */
function ruleIn({ own, plan = [], defaults }: Standing, ruleId: string): RuleEntity {
  const found = [...own, ...plan, ...defaults].find(({ id }) => id === ruleId);
  if (found === undefined) throw new RuleNotFoundError(ruleId);
  return found;
}

async function* counted(replayed: AsyncGenerator<number, ReplayResult>, of: number): AsyncGenerator<PreviewProgress, ReplayResult> {
  yield { replayed: 0, of };
  for (;;) {
    const step = await replayed.next();
    if (step.done) return step.value;
    yield { replayed: step.value, of };
  }
}

function answer({ shadows, shadowedBy, uncovers, warnings }: DraftShadowing, replayed: Pick<Preview, 'replay' | 'sample'> = {}): Preview {
  return { shadows, shadowedBy, uncovers, warnings, ...replayed };
}

function rulesOf({ now, then }: Alternatives): Rule[] {
  const all = ({ own, plan = [], defaults }: RuleSet) => [...own, ...plan, ...defaults];
  return [...new Set([...all(now), ...all(then)])];
}

function sampleView({ rows, recorded, weight, leftOut }: RecordedSample): RecordedSampleView {
  const at = (ms: number) => new Date(ms).toISOString();
  return { from: at(rows[0]!.atMs), to: at(rows.at(-1)!.atMs), recorded: recorded.length, requests: rows.length, weight, leftOut };
}

function replayView({ byRule, mostAffected, series, ...found }: ReplayResult, { own, plan = [], defaults }: RuleSet): ReplayView {
  const names = new Map([...own, ...plan, ...defaults].map(({ id, name }) => [id, name]));
  return {
    ...found,
    byRule: byRule.map(({ ruleId, ...counts }) => ({
      ruleId: ruleId === DRAFT_ID ? null : ruleId,
      name: names.get(ruleId) ?? '',
      ...counts,
    })),
    mostAffected: [...mostAffected],
    series: [...series],
  };
}

function demandAddresses({ own, plan = [], defaults }: RuleSet, rows: readonly SampleRow[]): void {
  const needsIp = [...own, ...plan, ...defaults].find(({ enabled, key }) => enabled && key.includes('ip'));
  if (needsIp === undefined || rows.every(({ ip }) => ip !== undefined)) return;
  const detail = `must have the column ip, with an address in each row, because the key of the rule ${JSON.stringify(needsIp.name)} has ip`;
  throw badBody([{ pointer: '/sample', code: 'preview.sample.lacks_ip', detail }]);
}

function busy(): ProblemError {
  const detail = 'other drafts are being tried; try again when they are done';
  return new ProblemError({ status: 503, code: 'preview.busy', detail, headers: { 'retry-after': '2' } });
}
