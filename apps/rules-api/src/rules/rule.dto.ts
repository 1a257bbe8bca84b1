import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, IntersectionType } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import {
  KEY_PARTS,
  type KeyPart,
  type Layer,
  LAYERS,
  type Mode,
  MODES,
  pathPatternFault,
  type Penalty,
  RULE_BOUNDS,
  type RuleSpec,
  STORE_FAILURE_POLICIES,
  type StoreFailurePolicy,
} from '#limiter';
import { type RuleEntity } from '#rules-db';
import {
  type Check,
  fault,
  Fits,
  line,
  LINE_PATTERN,
  listOf,
  oneOf,
  plainObject,
  plainObjectOrNull,
  trueOrFalse,
  wholeNumber,
} from '../http/field-rules.js';
import { bounded, differentNames, LIMIT_DTOS, LIMIT_SCHEMA, type LimitDto, limitDtos, limitSpec } from './limit.dto.js';

const method = (value: unknown) =>
  typeof value === 'string' && /^[A-Z][A-Z-]{0,31}$/.test(value) ? [] : fault('must be an HTTP method in capitals like POST', value);

const path = (value: unknown) => {
  if (typeof value !== 'string' || !value.isWellFormed()) return fault('must be a path pattern like /transactions/**', value);
  const reason = pathPatternFault(value);
  return reason === undefined ? [] : fault(reason, value);
};

const keyPart = (value: unknown) =>
  KEY_PARTS.some((part) => part === value) ? [] : fault(`must be one of ${KEY_PARTS.join(', ')}`, value);

const listOfLimits: Check = (value, object, property) => {
  const faults = listOf((item) => plainObject(item, object, property), RULE_BOUNDS.limits)(value, object, property);
  return faults.length > 0 ? faults : differentNames(value, object, property);
};

/** When a rule applies. */
export class RuleMatchDto {
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', pattern: '^[A-Z][A-Z-]{0,31}$' },
    maxItems: RULE_BOUNDS.methods.max,
    default: [],
    example: ['POST'],
    description: 'HTTP methods in capitals; none means any',
  })
  @Fits(listOf(method, { min: 0, max: RULE_BOUNDS.methods.max }))
  methods: string[] = [];

  @ApiPropertyOptional({
    type: [String],
    maxItems: RULE_BOUNDS.paths.max,
    default: [],
    example: ['/transactions/**'],
    description: '* within a segment, ** any number of segments; none means any path',
  })
  @Fits(listOf(path, { min: 0, max: RULE_BOUNDS.paths.max }))
  paths: string[] = [];
}

const PenaltyNumber = (...[bounds, example, description]: Parameters<typeof bounded>): PropertyDecorator =>
  applyDecorators(ApiProperty(bounded(bounds, example, description)), Fits(wholeNumber(bounds.min, bounds.max)));

/** What happens to a key that is refused again and again. */
export class PenaltyDto {
  @PenaltyNumber(RULE_BOUNDS.penalty.refusals, 100, 'With this many refusals in a window the block begins')
  refusals: number;

  @PenaltyNumber(RULE_BOUNDS.penalty.windowMs, 60_000, 'Milliseconds from the first refusal')
  windowMs: number;

  @PenaltyNumber(RULE_BOUNDS.penalty.blockMs, 300_000, 'Milliseconds for which everything is refused')
  blockMs: number;
}

/** A rule as an administrator writes it. */
@ApiExtraModels(...LIMIT_DTOS)
export class RuleDto {
  @ApiProperty({
    type: String,
    minLength: 1,
    maxLength: RULE_BOUNDS.name.maxLength,
    pattern: LINE_PATTERN,
    example: 'card payments',
    description: 'Different from the names of the other rules here',
  })
  @Fits(line(RULE_BOUNDS.name.maxLength))
  name: string;

  @ApiPropertyOptional({ enum: LAYERS, default: 'merchant', description: 'Rules compete by priority inside a layer; layers add up' })
  @Fits(oneOf(LAYERS))
  layer: Layer = 'merchant';

  @ApiPropertyOptional({
    type: 'integer',
    minimum: RULE_BOUNDS.priority.min,
    maximum: RULE_BOUNDS.priority.max,
    default: 100,
    description: 'The highest wins',
  })
  @Fits(wholeNumber(RULE_BOUNDS.priority.min, RULE_BOUNDS.priority.max))
  priority: number = 100;

  @ApiPropertyOptional({ type: Boolean, default: true })
  @Fits(trueOrFalse)
  enabled: boolean = true;

  @ApiPropertyOptional({ enum: MODES, default: 'enforce', description: 'shadow: counted, but refuses nothing' })
  @Fits(oneOf(MODES))
  mode: Mode = 'enforce';

  @ApiPropertyOptional({ type: RuleMatchDto, default: { methods: [], paths: [] } })
  @Fits(plainObject)
  @ValidateNested()
  @Type(() => RuleMatchDto)
  match: RuleMatchDto = new RuleMatchDto();

  @ApiPropertyOptional({
    enum: KEY_PARTS,
    isArray: true,
    maxItems: KEY_PARTS.length,
    default: ['merchant'],
    description: 'What tells buckets apart, in any order; none means one bucket for all',
  })
  @Fits(listOf(keyPart, { min: 0, max: KEY_PARTS.length }))
  key: KeyPart[] = ['merchant'];

  @ApiProperty({
    type: 'array',
    items: LIMIT_SCHEMA,
    minItems: RULE_BOUNDS.limits.min,
    maxItems: RULE_BOUNDS.limits.max,
    description: 'All must pass, or nothing is taken. Headers and problems name them in this order',
  })
  @Fits(listOfLimits)
  @ValidateNested()
  @Transform(({ value }) => limitDtos(value), { toClassOnly: true })
  limits: LimitDto[];

  @ApiPropertyOptional({
    type: 'integer',
    minimum: RULE_BOUNDS.cost.min,
    maximum: RULE_BOUNDS.cost.max,
    default: 1,
    description: 'Tokens that one request takes from each limit',
  })
  @Fits(wholeNumber(RULE_BOUNDS.cost.min, RULE_BOUNDS.cost.max))
  cost: number = 1;

  @ApiPropertyOptional({
    enum: STORE_FAILURE_POLICIES,
    default: 'local',
    description: 'When the store of the buckets does not answer: let pass, refuse with 503, or a bucket in each gateway',
  })
  @Fits(oneOf(STORE_FAILURE_POLICIES))
  onStoreFailure: StoreFailurePolicy = 'local';

  @ApiPropertyOptional({
    type: PenaltyDto,
    nullable: true,
    default: null,
    description: 'After so many refusals in a window, everything behind a bucket key is refused for a time; null for none',
  })
  @Fits(plainObjectOrNull)
  @ValidateNested()
  @Type(() => PenaltyDto)
  penalty: PenaltyDto | null = null;
}

class RuleIdentity {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes; in double quotes it is the ETag' })
  version: number;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt: string;
}

/** A rule as the API shows it: what was written, every default filled in, with its identity. */
export class RuleView extends IntersectionType(RuleIdentity, RuleDto) {}

/** A rule of which something is stored that makes no sense. */
export class UnreadableRule {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: String, example: 'card payments' })
  name: string;

  @ApiProperty({ type: 'integer', example: 1, description: 'In double quotes it is the ETag' })
  version: number;

  @ApiProperty({ type: String, example: 'rule.cost: must be a whole number from 1 to 1000000000, got -5' })
  detail: string;
}

export class RulePage {
  @ApiProperty({ type: [RuleView] })
  items: RuleView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;

  @ApiPropertyOptional({
    type: [UnreadableRule],
    description: 'Rules of this page that cannot be shown, if there are any; replace or delete them',
  })
  unreadable?: UnreadableRule[];
}

export function ruleSpec(rule: RuleDto | RuleEntity): RuleSpec {
  const { name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty } = rule;
  const { methods, paths } = match;
  return {
    name,
    layer,
    priority,
    enabled,
    mode,
    match: { methods, paths },
    key,
    limits: limits.map(limitSpec),
    cost,
    onStoreFailure,
    penalty: penalty && penaltySpec(penalty),
  };
}

function penaltySpec({ refusals, windowMs, blockMs }: Penalty): Penalty {
  return { refusals, windowMs, blockMs };
}

export function ruleView(rule: RuleEntity): RuleView {
  const { id, version, createdAt, updatedAt } = rule;
  return { id, ...ruleSpec(rule), version, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() } as unknown as RuleView;
}
