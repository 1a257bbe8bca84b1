import { Inject, Injectable } from '@nestjs/common';
import type { RuleWarning } from '#limiter';
import { inOneTransaction, type RuleEntity, RuleRepository } from '#rules-db';
import { RulesDatabase } from '../database.js';
import type { KnownUse } from './known-use.js';
import { type RuleView, ruleView, type WrittenRule } from './rule.dto.js';
import { refusedForWarnings, warningsOf } from './rule-warnings.js';
import { UnreadableRules } from './unreadable-rules.js';
import type { WriteQueryDto } from './write-query.dto.js';

/** Writes single rules, and says what is probably a mistake in them. */
@Injectable()
export class WarnedWrites {
  constructor(
    @Inject(RulesDatabase) private readonly database: RulesDatabase,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
  ) {}

  /** Writes a rule, and says what is probably a mistake in it; if that is not wanted, nothing is written. @throws ProblemError 400 */
  async written({ strict }: WriteQueryDto, write: (rules: RuleRepository) => Promise<RuleEntity>, use?: KnownUse): Promise<WrittenRule> {
    return inOneTransaction(this.database.dataSource, async (transaction) => {
      const rules = new RuleRepository(transaction);
      const rule = await write(rules);
      const warnings = await this.warningsOf(rule, rules, use);
      if (strict === 'true' && warnings.length > 0) throw refusedForWarnings(warnings);
      return withWarnings(ruleView(rule), warnings);
    });
  }

  async warningsOf(rule: RuleEntity, rules: RuleRepository, use: KnownUse | undefined): Promise<RuleWarning[]> {
    const byWriting = await warningsOf(rule, rules, (other) => this.unreadable.faultOf(other) === undefined);
    return [...byWriting, ...(use?.warningsOf(rule) ?? [])];
  }
}

export function withWarnings(rule: RuleView, warnings: RuleWarning[]): WrittenRule {
  return warnings.length > 0 ? { ...rule, warnings } : rule;
}
