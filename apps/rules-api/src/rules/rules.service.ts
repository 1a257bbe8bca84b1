import { Inject, Injectable } from '@nestjs/common';
import type { RuleSpec } from '#limiter';
import {
  type Actor,
  type ExpectedVersions,
  MAX_RULES_PER_OWNER,
  MerchantNotFoundError,
  MerchantRepository,
  PlanNotFoundError,
  PlanRepository,
  RuleNotFoundError,
  type RuleEntity,
  type RuleOwner,
  RuleRepository,
} from '#rules-db';
import { mergePatch } from '../http/merge-patch.js';
import { jsonObject, validated } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, filteredList, toPage } from '../pagination/page.js';
import { KnownUses } from './known-use.js';
import { ReplaceRuleDto, type RuleDto, type RulePage, ruleSpec, type RuleView, ruleView, type WrittenRule } from './rule.dto.js';
import { ruleFilter, type RuleQueryDto } from './rule-query.dto.js';
import { unreadableRule, UnreadableRules } from './unreadable-rules.js';
import { WarnedWrites, withWarnings } from './warned-writes.js';
import type { WriteQueryDto } from './write-query.dto.js';

/** The rules of a merchant or of a plan, and with null for the owner the default rules. */
@Injectable()
export class RulesService {
  constructor(
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(PlanRepository) private readonly plans: PlanRepository,
    @Inject(WarnedWrites) private readonly writes: WarnedWrites,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
    @Inject(KnownUses) private readonly uses: KnownUses,
  ) {}

  async create(owner: RuleOwner, body: RuleDto, query: WriteQueryDto, by: Actor): Promise<WrittenRule> {
    return this.writes.written(query, (rules) => rules.create(owner, ruleSpec(body), by));
  }

  /** A rule that cannot be read is named beside the others, so that somebody can replace or delete it. */
  async list(owner: RuleOwner, { size, cursor, path, label, algorithm, enabled }: RuleQueryDto): Promise<RulePage> {
    const wanted = { path, label, algorithm, enabled };
    const filter = ruleFilter(wanted);
    const list = filteredList('rules', wanted);
    const after = cursor === undefined ? undefined : positionIn(list, cursor);
    // An owner has so few rules that a filter may look at all of them.
    const rows = await this.rules.list(owner, { after, limit: filter === undefined ? size + 1 : MAX_RULES_PER_OWNER });
    if (rows.length === 0) await this.mustExist(owner);
    const { items, nextCursor } = toPage(
      rows
        .map((rule) => ({ rule, fault: this.unreadable.faultOf(rule) }))
        .filter(({ rule, fault }) => fault !== undefined || (filter?.(rule) ?? true)),
      size,
      (item) => item,
      ({ rule: { priority, id } }) => encodeCursor(list, [priority, id]),
    );
    const unreadable = items.flatMap(({ rule: { id, name, version }, fault }) =>
      fault === undefined ? [] : [{ id, name, version, detail: fault }],
    );
    const readable = items.flatMap(({ rule, fault }) => (fault === undefined ? [ruleView(rule)] : []));
    return { items: readable, nextCursor, ...(unreadable.length > 0 && { unreadable }) };
  }

  async get(owner: RuleOwner, id: string): Promise<WrittenRule> {
    const rule = await this.rules.find(owner, id);
    if (rule) return withWarnings(this.readable(rule), await this.writes.warningsOf(rule, this.rules, await this.uses.of(owner, id)));
    await this.mustExist(owner);
    throw new RuleNotFoundError(id);
  }

  async replace(
    owner: RuleOwner,
    id: string,
    expected: ExpectedVersions,
    body: ReplaceRuleDto,
    query: WriteQueryDto,
    by: Actor,
  ): Promise<WrittenRule> {
    const use = await this.uses.of(owner, id);
    return this.writes.written(query, (rules) => rules.replace(owner, id, expected, ruleSpec(body), by), use);
  }

  /** @param patch a JSON merge patch; what it makes of the rule is checked as a whole */
  async patch(
    owner: RuleOwner,
    id: string,
    expected: ExpectedVersions,
    patch: object,
    query: WriteQueryDto,
    by: Actor,
  ): Promise<WrittenRule> {
    const specAfter = (before: RuleEntity): RuleSpec =>
      ruleSpec(validated(mergePatch(this.readable(before), jsonObject(patch), ReplaceRuleDto.fields), ReplaceRuleDto));
    const use = await this.uses.of(owner, id);
    return this.writes.written(query, (rules) => rules.replace(owner, id, expected, specAfter, by), use);
  }

  async delete(owner: RuleOwner, id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.rules.delete(owner, id, expected, by);
  }

  /** @throws ProblemError 500 if the stored rule cannot be read */
  private readable(rule: RuleEntity): RuleView {
    const fault = this.unreadable.faultOf(rule);
    if (fault === undefined) return ruleView(rule);
    throw unreadableRule(rule, fault);
  }

  private async mustExist(owner: RuleOwner): Promise<void> {
    if (owner === null) return;
    if (typeof owner === 'string') {
      if (!(await this.merchants.find(owner))) throw new MerchantNotFoundError(owner);
    } else if (!(await this.plans.find(owner.plan))) throw new PlanNotFoundError(owner.plan);
  }
}

function positionIn(list: string, cursor: string): { priority: number; id: string } {
  const [priority, id] = decodeCursor(list, cursor, isPosition);
  return { priority, id };
}

function isPosition(values: readonly unknown[]): values is [number, string] {
  const [priority, id] = values;
  return values.length === 2 && isInt32(priority) && typeof id === 'string' && /^[1-9]\d{0,17}$/.test(id);
}

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && (value | 0) === value;
}
