import { Inject, Injectable } from '@nestjs/common';
import {
  type Actor,
  type Expected,
  MerchantNotFoundError,
  MerchantRepository,
  RuleNotFoundError,
  type RuleEntity,
  type RuleOwner,
  RuleRepository,
} from '#rules-db';
import { decodeCursor, encodeCursor, toPage } from '../pagination/page.js';
import { type PageQueryDto } from '../pagination/page-query.dto.js';
import { type RuleDto, type RulePage, ruleSpec, type RuleView, ruleView } from './rule.dto.js';
import { unreadableRule, UnreadableRules } from './unreadable-rules.js';

const LIST = 'rules';

/** The rules of a merchant, and with null for the owner the default rules. */
@Injectable()
export class RulesService {
  constructor(
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
  ) {}

  async create(owner: RuleOwner, body: RuleDto, by: Actor): Promise<RuleView> {
    return ruleView(await this.rules.create(owner, ruleSpec(body), by));
  }

  /** A rule that cannot be read is named beside the others, so that somebody can replace or delete it. */
  async list(owner: RuleOwner, { size, cursor }: PageQueryDto): Promise<RulePage> {
    const rows = await this.rules.list(owner, { after: cursor === undefined ? undefined : positionIn(cursor), limit: size + 1 });
    if (rows.length === 0) await this.mustExist(owner);
    const { items, nextCursor } = toPage(
      rows,
      size,
      (rule) => ({ rule, fault: this.unreadable.faultOf(rule) }),
      ({ priority, id }) => encodeCursor(LIST, [priority, id]),
    );
    const unreadable = items.flatMap(({ rule: { id, name, version }, fault }) =>
      fault === undefined ? [] : [{ id, name, version, detail: fault }],
    );
    const readable = items.flatMap(({ rule, fault }) => (fault === undefined ? [ruleView(rule)] : []));
    return { items: readable, nextCursor, ...(unreadable.length > 0 && { unreadable }) };
  }

  async get(owner: RuleOwner, id: string): Promise<RuleView> {
    const rule = await this.rules.find(owner, id);
    if (rule) return this.view(rule);
    await this.mustExist(owner);
    throw new RuleNotFoundError(id);
  }

  async replace(owner: RuleOwner, id: string, expected: Expected, body: RuleDto, by: Actor): Promise<RuleView> {
    return ruleView(await this.rules.replace(owner, id, expected, ruleSpec(body), by));
  }

  async delete(owner: RuleOwner, id: string, expected: Expected, by: Actor): Promise<void> {
    await this.rules.delete(owner, id, expected, by);
  }

  private view(rule: RuleEntity): RuleView {
    const fault = this.unreadable.faultOf(rule);
    if (fault === undefined) return ruleView(rule);
    throw unreadableRule(rule, fault);
  }

  private async mustExist(owner: RuleOwner): Promise<void> {
    if (owner !== null && !(await this.merchants.find(owner))) throw new MerchantNotFoundError(owner);
  }
}

function positionIn(cursor: string): { priority: number; id: string } {
  const [priority, id] = decodeCursor(LIST, cursor, isPosition);
  return { priority, id };
}

function isPosition(values: readonly unknown[]): values is [number, string] {
  const [priority, id] = values;
  return values.length === 2 && isInt32(priority) && typeof id === 'string' && /^[1-9]\d{0,17}$/.test(id);
}

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && (value | 0) === value;
}
