import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { OverrideEntity } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { OVERRIDE_FIELDS } from './override-fields.js';

export class CreateOverrideDto extends changeDto('override', OVERRIDE_FIELDS) {}

const OVERRIDE_STATES = ['active', 'ended', 'deleted'] as const;
export type OverrideState = (typeof OVERRIDE_STATES)[number];

/** An override as the API shows it. */
export class OverrideView {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiPropertyOptional({ type: 'integer', example: 5 })
  multiply?: number;

  @ApiPropertyOptional({
    type: [Object],
    description: 'Numbers that replace those of limits, by the name that each limit had when the override began',
  })
  limits?: Record<string, unknown>[];

  @ApiProperty({ type: String, format: 'date-time', description: 'The time at which the override began' })
  from: string;

  @ApiProperty({ type: String, format: 'date-time', description: 'The time at which the override ends, or has ended' })
  until: string;

  @ApiProperty({ enum: OVERRIDE_STATES, description: 'Whether it is in force, has ended by itself, or was ended by hand' })
  state: OverrideState;

  @ApiProperty({ type: String, nullable: true, example: 'the sale of the weekend' })
  reason: string | null;

  @ApiProperty({ type: String, example: 'admin', description: 'The actor that began the override' })
  createdBy: string;
}

export class OverridePage {
  @ApiProperty({ type: [OverrideView] })
  items: OverrideView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function overrideView(
  { id, ruleId: rule, multiply, limits, fromAt, untilAt, deleted, reason, createdBy: by }: OverrideEntity,
  nowMs: number,
): OverrideView {
  return {
    id,
    ruleId: rule,
    ...(multiply === null ? { limits: (limits ?? []).map(({ name: limit, numbers }) => ({ name: limit, ...numbers })) } : { multiply }),
    from: fromAt.toISOString(),
    until: untilAt.toISOString(),
    state: deleted ? 'deleted' : untilAt.getTime() <= nowMs ? 'ended' : 'active',
    reason,
    createdBy: by,
  };
}
