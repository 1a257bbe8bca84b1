import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { RuleSpec } from '#limiter';
import type { MerchantSpec, PlanSpec } from '#rules-db';
import { PatchStep } from '../history/history.dto.js';
import { tableDto } from '../http/table-dto.js';
import { RuleWarningView } from '../rules/rule.dto.js';
import { APPLY_QUERY_FIELDS, CONFIGURATION_FIELDS, EXPORT_QUERY_FIELDS } from './configuration-fields.js';

/** Merchants and rules as a file: the body of apply and the answer of export. */
export class ConfigurationDto extends tableDto('configuration', CONFIGURATION_FIELDS) {}

/** Plans or merchants of a document, in the order of their names or ids. Each is read from the document when it is its turn, with every default filled in. */
export interface Configured<T> extends Iterable<T> {
  readonly names: readonly string[];
}

/** A document without faults. */
export interface Configuration {
  readonly plans: Configured<Placed<ConfiguredPlan>>;
  readonly merchants: Configured<Placed<ConfiguredMerchant>>;
  /** The plans that merchants of the document are given, each with the places in the document that name it. */
  readonly givenPlans: ReadonlyMap<string, readonly string[]>;
  /** Undefined: the default rules are not managed by this document. */
  readonly defaultRules: readonly RuleSpec[] | undefined;
}

/** With its place in the document, as a JSON pointer. */
export type Placed<T> = T & { readonly pointer: string };

export interface ConfiguredPlan extends PlanSpec {
  readonly name: string;
  readonly rules: readonly RuleSpec[];
}

export interface ConfiguredMerchant extends MerchantSpec {
  readonly rules: readonly RuleSpec[];
}

export class ExportQueryDto {
  static readonly code = 'query';
  static readonly fields = EXPORT_QUERY_FIELDS;

  @ApiPropertyOptional({
    type: String,
    ...EXPORT_QUERY_FIELDS.merchant.format.schema,
    description: EXPORT_QUERY_FIELDS.merchant.explanation,
  })
  merchant?: string;

  @ApiPropertyOptional({
    enum: EXPORT_QUERY_FIELDS.format.values,
    default: EXPORT_QUERY_FIELDS.format.default,
    description: EXPORT_QUERY_FIELDS.format.explanation,
  })
  format: 'yaml' | 'json';

  @ApiPropertyOptional({
    type: String,
    ...EXPORT_QUERY_FIELDS.select.format.schema,
    description: EXPORT_QUERY_FIELDS.select.explanation,
  })
  select?: string;
}

export class ApplyQueryDto {
  static readonly code = 'query';
  static readonly fields = APPLY_QUERY_FIELDS;

  @ApiPropertyOptional({ type: Boolean, default: false, description: APPLY_QUERY_FIELDS.dryRun.explanation })
  dryRun: 'true' | 'false';

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    default: Number(APPLY_QUERY_FIELDS.maxDeletePercent.default),
    description: APPLY_QUERY_FIELDS.maxDeletePercent.explanation,
  })
  maxDeletePercent: string;

  @ApiPropertyOptional({ type: Boolean, default: false, description: APPLY_QUERY_FIELDS.deleteMerchants.explanation })
  deleteMerchants: 'true' | 'false';

  @ApiPropertyOptional({ type: Boolean, default: false, description: APPLY_QUERY_FIELDS.deletePlans.explanation })
  deletePlans: 'true' | 'false';

  @ApiPropertyOptional({
    type: String,
    ...APPLY_QUERY_FIELDS.select.format.schema,
    description: APPLY_QUERY_FIELDS.select.explanation,
  })
  select?: string;

  @ApiPropertyOptional({ type: Boolean, default: false, description: APPLY_QUERY_FIELDS.strict.explanation })
  strict: 'true' | 'false';
}

const CHANGE_ACTIONS = ['create', 'update', 'delete'] as const;
const CHANGE_KINDS = ['plan', 'plan_rule', 'merchant', 'rule', 'default_rule'] as const;

/** One difference between a document and what is stored. */
export class AppliedChange {
  @ApiProperty({ enum: CHANGE_ACTIONS })
  action: (typeof CHANGE_ACTIONS)[number];

  @ApiProperty({ enum: CHANGE_KINDS })
  kind: (typeof CHANGE_KINDS)[number];

  @ApiProperty({
    type: String,
    example: 'card payments',
    description: 'Of a merchant its id, of a plan its name. Of a rule its name, which its owner has only once.',
  })
  id: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'acme',
    description: 'The merchant, or the owner of the rule. Null for a default rule and for a plan.',
  })
  merchantId: string | null;

  @ApiPropertyOptional({ type: String, example: 'pro', description: 'The plan, or the plan of the rule, if it is one' })
  plan?: string;

  @ApiProperty({ type: [PatchStep], description: 'The difference as a JSON Patch (RFC 6902)' })
  patch: PatchStep[];
}

/** Why apply would refuse a document. */
export class ApplyRefusal {
  @ApiProperty({ type: String, example: 'apply.too_many_deletions' })
  code: string;

  @ApiProperty({ type: String })
  detail: string;
}

export class ApplyResult {
  @ApiProperty({
    type: [AppliedChange],
    description:
      'Plans first, merchants by id, each before its rules, then default rules, and deleted plans last. Of each owner deletions stand before new rules.',
  })
  changes: AppliedChange[];

  @ApiProperty({ type: Boolean, description: 'Whether the changes were made. False for a dry run.' })
  applied: boolean;

  @ApiPropertyOptional({ type: ApplyRefusal, description: 'Only for a dry run: why the document would be refused, if it would be' })
  refusal?: ApplyRefusal;

  @ApiPropertyOptional({
    type: [RuleWarningView],
    description:
      'Warnings about the rules that are created or changed, at most 100, with JSON pointers into the document; absent if there are none.',
  })
  warnings?: RuleWarningView[];

  @ApiPropertyOptional({ type: 'integer', minimum: 1, description: 'How many warnings there are besides; absent if there are none.' })
  moreWarnings?: number;
}
