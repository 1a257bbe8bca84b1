import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { completed, RULE_FIELDS, type RuleSpec } from '#limiter';
import { type RuleEntity } from '#rules-db';
import { tableDto } from '../http/table-dto.js';

/** A rule as an administrator writes it. */
export class RuleDto extends tableDto('rule', RULE_FIELDS) {}

/** A rule as the API shows it: what was written, every default filled in, with its identity. */
export class RuleView extends RuleDto {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes. In double quotes it is the ETag.' })
  version: number;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt: string;
}

/** A rule whose stored row cannot be read. */
export class UnreadableRule {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: String, example: 'card payments' })
  name: string;

  @ApiProperty({ type: 'integer', example: 1, description: 'In double quotes it is the ETag.' })
  version: number;

  @ApiProperty({ type: String, example: 'rule.cost: must be a whole number from 1 to 1000000000, got -5' })
  detail: string;
}

export class RulePage {
  @ApiProperty({ type: [RuleView] })
  items: RuleView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;

  @ApiPropertyOptional({
    type: [UnreadableRule],
    description: 'Rules of this page that cannot be shown, if there are any. Replace or delete them.',
  })
  unreadable?: UnreadableRule[];
}

/** Only the fields of the API: a stored rule and its limits have more. */
export function ruleSpec(rule: RuleDto | RuleEntity): RuleSpec {
  return completed(rule as unknown as Record<string, unknown>, RULE_FIELDS) as unknown as RuleSpec;
}

export function ruleView(rule: RuleEntity): RuleView {
  const { id, version, createdAt, updatedAt } = rule;
  return { id, ...ruleSpec(rule), version, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
