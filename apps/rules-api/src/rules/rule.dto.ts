import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  completed,
  type Fields,
  RULE_FIELDS,
  RULE_WARNINGS,
  type RuleSpec,
  type RuleWarning,
  type WarningCode,
  writingFaults,
} from '#limiter';
import type { RuleEntity } from '#rules-db';
import { IGNORED, READ_FIELDS } from '../http/read-fields.js';
import { RULE_ID } from '../http/text-formats.js';
import { changeDto } from '../http/change-dto.js';
import { tableDto } from '../http/table-dto.js';

/** A rule as an administrator writes it. */
export class RuleDto extends changeDto('rule', RULE_FIELDS, writingFaults) {}

const ANY_TEXT = { expected: 'must be a text', fault: () => undefined, schema: {} };

/** The path says which rule is written, and If-Match which version: what a body says of both is ignored. */
const SERVER_FIELDS = {
  id: {
    kind: 'text',
    format: RULE_ID,
    example: '17',
    explanation: IGNORED,
  },
  ...READ_FIELDS,
  warnings: {
    kind: 'list',
    of: {
      kind: 'object',
      fields: {
        code: {
          kind: 'text',
          format: ANY_TEXT,
          required: true,
          example: 'rule.shadowed',
          explanation: 'What is probably wrong, for programs.',
        },
        pointer: { kind: 'text', format: ANY_TEXT, required: true, example: '/priority', explanation: 'JSON pointer into the rule.' },
        detail: {
          kind: 'text',
          format: ANY_TEXT,
          required: true,
          example: 'is never asked',
          explanation: 'What is probably wrong, for people.',
        },
      },
      explanation: 'A warning.',
    },
    min: 0,
    max: 1_000,
    explanation: IGNORED,
  },
} as const satisfies Fields;

/** What replaces a rule: a rule as an administrator writes it, or as the API has shown it. */
export class ReplaceRuleDto extends changeDto('rule', { ...RULE_FIELDS, ...SERVER_FIELDS }, writingFaults) {}

/** The document's name for a merge patch of a rule; its schema is made from that of ReplaceRuleDto. */
export class RulePatch {}

/** A rule as the API shows it: what was written, every default filled in, with its identity. */
export class RuleView extends tableDto('rule', RULE_FIELDS) {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes. In double quotes it is the ETag.' })
  version: number;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt: string;
}

/** A rule is legal, and this is probably a mistake. */
export class RuleWarningView implements RuleWarning {
  @ApiProperty({ enum: Object.keys(RULE_WARNINGS), description: 'What is probably wrong, for programs.' })
  code: WarningCode;

  @ApiProperty({ type: String, description: 'JSON pointer into the rule.', example: '/priority' })
  pointer: string;

  @ApiProperty({ type: String, description: 'What is probably wrong, for people.' })
  detail: string;
}

/** A rule by itself, with what is probably a mistake in it. */
export class WrittenRule extends RuleView {
  @ApiPropertyOptional({ type: [RuleWarningView], description: 'Warnings about the rule; absent if there are none.' })
  warnings?: RuleWarningView[];
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
export function ruleSpec(rule: RuleDto | ReplaceRuleDto | RuleEntity): RuleSpec {
  return completed(rule as unknown as Record<string, unknown>, RULE_FIELDS) as unknown as RuleSpec;
}

export function ruleView(rule: RuleEntity): RuleView {
  const { id, version, createdAt, updatedAt } = rule;
  return { id, ...ruleSpec(rule), version, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
