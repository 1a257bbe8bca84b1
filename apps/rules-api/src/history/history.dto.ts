import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { createPatch } from 'rfc6902';
import { type Fields, PLAN_NAME } from '#limiter';
import { AUDIT_ACTIONS, type AuditAction, type AuditEntity } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { MERCHANT_ID, MOMENT } from '../http/text-formats.js';
import { ANY_JSON } from '../openapi/any-json.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

/** Longer than any name that a token may have. */
const ACTOR_MAX_LENGTH = 200;
const ACTOR_EXPECTED = `must be a text of 1 to ${ACTOR_MAX_LENGTH} characters`;

const AUDIT_QUERY_FIELDS = {
  ...PageQueryDto.fields,
  actor: {
    kind: 'text',
    format: {
      expected: ACTOR_EXPECTED,
      fault: (text) => (text.length >= 1 && text.length <= ACTOR_MAX_LENGTH && !text.includes('\0') ? undefined : ACTOR_EXPECTED),
      schema: { minLength: 1, maxLength: ACTOR_MAX_LENGTH },
    },
    explanation: 'Only changes by this administrator or machine.',
  },
  merchant: {
    kind: 'text',
    format: MERCHANT_ID,
    explanation: 'Only changes of this merchant and its rules.',
  },
  plan: { kind: 'text', format: PLAN_NAME, explanation: 'Only changes of this plan and its rules.' },
  since: { kind: 'text', format: MOMENT, explanation: 'Only changes at this moment or later.' },
  until: { kind: 'text', format: MOMENT, explanation: 'Only changes before this moment.' },
} as const satisfies Fields;

/** The query of the audit. */
export class AuditQueryDto extends PageQueryDto {
  static override readonly fields = AUDIT_QUERY_FIELDS;

  @ApiPropertyOptional({ type: String, ...AUDIT_QUERY_FIELDS.actor.format.schema, description: AUDIT_QUERY_FIELDS.actor.explanation })
  actor?: string;

  @ApiPropertyOptional({ type: String, ...AUDIT_QUERY_FIELDS.merchant.format.schema, description: AUDIT_QUERY_FIELDS.merchant.explanation })
  merchant?: string;

  @ApiPropertyOptional({ type: String, ...AUDIT_QUERY_FIELDS.plan.format.schema, description: AUDIT_QUERY_FIELDS.plan.explanation })
  plan?: string;

  @ApiPropertyOptional({ type: String, format: 'date-time', description: AUDIT_QUERY_FIELDS.since.explanation })
  since?: string;

  @ApiPropertyOptional({ type: String, format: 'date-time', description: AUDIT_QUERY_FIELDS.until.explanation })
  until?: string;
}

const REVERT_FIELDS = {
  version: {
    kind: 'whole_number',
    min: 1,
    // A 32-bit counter in the database.
    max: 2_147_483_647,
    required: true,
    example: 1,
    explanation: 'The version whose numbers hold again. The history shows which there were.',
  },
} as const satisfies Fields;

/** The body of a revert. */
export class RevertDto extends changeDto('revert', REVERT_FIELDS) {}

/** One step of a JSON Patch (RFC 6902). */
export class PatchStep {
  @ApiProperty({ enum: ['add', 'remove', 'replace'] })
  op: string;

  @ApiProperty({ type: String, example: '/limits/0/capacity', description: 'JSON pointer; empty: the whole' })
  path: string;

  @ApiPropertyOptional({ ...ANY_JSON, description: 'The value after the change', example: 20 })
  value?: unknown;
}

/** One change. */
export class ChangeView {
  @ApiProperty({ type: String, example: '42', description: 'The place in the chain of the audit, from 1, without gaps' })
  id: string;

  @ApiProperty({ type: String, format: 'date-time' })
  at: string;

  @ApiProperty({ type: String, example: 'admin', description: 'The actor that made the change' })
  actor: string;

  @ApiProperty({ enum: AUDIT_ACTIONS })
  action: AuditAction;

  @ApiProperty({ type: String, nullable: true, example: 'acme', description: 'Null for a default rule, a plan or a token' })
  merchantId: string | null;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'The plan that changed, or that of the rule' })
  plan: string | null;

  @ApiProperty({ type: String, nullable: true, example: '17', description: 'Null for a change of the merchant or the plan itself' })
  ruleId: string | null;

  @ApiProperty({ type: 'integer', nullable: true, example: 2, description: 'The version that the change led to; null for a deletion' })
  version: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'ticket OPS-17',
    description: 'Why: the header X-Change-Reason, or the field reason of the body',
  })
  reason: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The id of the request that made the change' })
  requestId: string | null;

  @ApiPropertyOptional({ type: String, example: '5', description: 'The approval that it waited for, or that was decided' })
  approvalId?: string;

  @ApiPropertyOptional({ type: String, example: 'second admin', description: 'The second administrator, if the change waited for one' })
  approvedBy?: string;

  @ApiProperty({ type: [PatchStep], description: 'The difference as a JSON Patch (RFC 6902)' })
  patch: PatchStep[];
}

export class ChangePage {
  @ApiProperty({ type: [ChangeView] })
  items: ChangeView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

/** What a change shows of a rule or merchant: what an administrator wrote, and not what the database keeps beside it. */
const INTERNAL = new Set(['id', 'approval', 'merchantId', 'version', 'rulesVersion', 'createdAt', 'updatedAt']);
/** Of limits: how live buckets follow edits. */
const INTERNAL_OF_LIMIT = new Set(['id', 'generation', 'since', 'previous']);

export function changeView({
  seq,
  at,
  actor: by,
  action,
  merchantId: merchant,
  ruleId,
  reason,
  requestId,
  before,
  after,
}: AuditEntity): ChangeView {
  const version = (after as { version?: unknown } | null)?.version;
  return {
    id: seq,
    at: at.toISOString(),
    actor: by,
    action,
    merchantId: merchant,
    plan: planOf(merchant, before, after),
    ruleId,
    version: typeof version === 'number' ? version : null,
    reason,
    requestId,
    ...approvalOf(after ?? before),
    patch: merchant === null ? differenceOf(withoutPlan(before), withoutPlan(after)) : differenceOf(before, after),
  };
}

/** Of a merchant the plan is a field like others; of a plan and its rules it says whose they are. */
function planOf(merchantId: string | null, before: object | null, after: object | null): string | null {
  const { plan } = (after ?? before ?? {}) as { plan?: unknown };
  return merchantId === null && typeof plan === 'string' ? plan : null;
}

function withoutPlan(image: object | null): object | null {
  if (image === null) return null;
  const { plan: _plan, ...others } = image as { plan?: unknown };
  return others;
}

/** What is stored beside the change; see `recordChange`. */
function approvalOf(stored: object | null): Pick<ChangeView, 'approvalId' | 'approvedBy'> {
  const { id, by } = (stored as { approval?: { id?: unknown; by?: unknown } } | null)?.approval ?? {};
  return { ...(typeof id === 'string' && { approvalId: id }), ...(typeof by === 'string' && { approvedBy: by }) };
}

/** As a JSON Patch of what an administrator writes. */
export function differenceOf(before: object | null, after: object | null): PatchStep[] {
  if (after === null) return [{ op: 'remove', path: '' }];
  if (before === null) return [{ op: 'add', path: '', value: written(after) }];
  return createPatch(written(before), written(after));
}

function written(stored: object): object {
  const fields = Object.entries(stored).filter(([name]) => !INTERNAL.has(name));
  return Object.fromEntries(
    fields.map(([name, value]) => [name, name === 'limits' && Array.isArray(value) ? value.map(writtenLimit) : (value as unknown)]),
  );
}

function writtenLimit(limit: unknown): unknown {
  if (typeof limit !== 'object' || limit === null) return limit;
  return Object.fromEntries(Object.entries(limit).filter(([name]) => !INTERNAL_OF_LIMIT.has(name)));
}
