import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Fields, RULE_FIELDS } from '#limiter';
import { type Approval, APPROVAL_STATES, type ApprovalState } from '#rules-db';
import { differenceOf, PatchStep } from '../history/history.dto.js';
import { changeDto } from '../http/change-dto.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

export class ApproveDto extends changeDto('approval', {}) {
  static override readonly mayBeAbsent = true;
}

export class RejectDto extends changeDto('approval', {}) {
  static override readonly mayBeAbsent = true;
}

const STATE = { kind: 'choice', values: APPROVAL_STATES, explanation: 'Only approvals in this state.' } as const;

export const APPROVAL_FILTERS = ['state'];

export class ApprovalQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, state: STATE } as const satisfies Fields;

  @ApiPropertyOptional({ enum: APPROVAL_STATES, description: STATE.explanation })
  state?: ApprovalState;
}

/** What is to be changed. */
export class ProposedChangeView {
  @ApiProperty({ type: String, example: 'rule.replaced', description: 'The action, as the audit will name it' })
  action: string;

  @ApiProperty({ type: String, nullable: true, example: 'acme', description: 'Null for a default rule, and for one of a plan' })
  merchantId: string | null;

  @ApiPropertyOptional({ type: String, example: 'pro', description: 'The plan of the rule, if it belongs to one' })
  plan?: string;

  @ApiProperty({ type: String, nullable: true, example: '17' })
  ruleId: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 3,
    description: 'The version of the rule that would be changed; if the rule has another one by then, the approval is outdated',
  })
  version: number | null;

  @ApiProperty({ type: [PatchStep], description: 'The difference as a JSON Patch (RFC 6902)' })
  patch: PatchStep[];
}

/** A change that waits for a second administrator, or waited. */
export class ApprovalView {
  @ApiProperty({ type: String, example: '5' })
  id: string;

  @ApiProperty({ enum: APPROVAL_STATES })
  state: ApprovalState;

  @ApiProperty({ type: String, example: 'admin', description: 'The actor that proposes the change' })
  proposedBy: string;

  @ApiProperty({ type: String, format: 'date-time' })
  proposedAt: string;

  @ApiProperty({ type: String, nullable: true, example: 'ticket OPS-17', description: 'The reason given for the change' })
  reason: string | null;

  @ApiProperty({ type: String, format: 'date-time', description: 'When the approval expires: it cannot be approved any more' })
  expiresAt: string;

  @ApiProperty({ type: String, nullable: true, description: 'The actor that approved or rejected the change' })
  decidedBy: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  decidedAt: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The reason given for the decision' })
  decisionReason: string | null;

  @ApiProperty({ type: ProposedChangeView })
  change: ProposedChangeView;
}

export class ApprovalPage {
  @ApiProperty({ type: [ApprovalView] })
  items: ApprovalView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function approvalView(approval: Approval): ApprovalView {
  const { id, state, proposedBy, createdAt, reason, expiresAt, decidedBy, decidedAt, decisionReason, change } = approval;
  const { action, merchantId, plan, ruleId, version, before, after } = change;
  return {
    id,
    state,
    proposedBy,
    proposedAt: createdAt.toISOString(),
    reason,
    expiresAt: expiresAt.toISOString(),
    decidedBy,
    decidedAt: decidedAt?.toISOString() ?? null,
    decisionReason,
    change: { action, merchantId, ...(plan && { plan }), ruleId, version, patch: differenceOf(writtenOf(before, after), after) },
  };
}

/** What is stored of a rule, without what an administrator does not write and what was not written: `after` has neither. */
function writtenOf(before: object | null, after: object | null): object | null {
  if (before === null || after === null) return before;
  const written = Object.entries(before).filter(([name, value]) => name in after || (value !== null && Object.hasOwn(RULE_FIELDS, name)));
  return Object.fromEntries(written);
}
