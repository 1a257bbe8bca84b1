import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LAYERS, type Layer, MODES, SWITCH_NAMES, type SwitchName, WHY_NOT } from '#limiter';
import { tableDto } from '../http/table-dto.js';
import { ANY_JSON } from '../openapi/any-json.js';
import { SwitchScopeView } from '../switches/switch-scope-view.js';
import { EXPLAIN_FIELDS } from './explain-fields.js';

export class ExplainDto extends tableDto('explain', EXPLAIN_FIELDS) {}

class ExplainedVerdict {
  @ApiProperty({ type: Boolean })
  allowed: boolean;

  @ApiProperty({ type: String, example: 'over_limit', description: 'The reason of the verdict, as gateways count it in their metrics.' })
  reason: string;

  @ApiProperty({ type: 'integer', example: 429, description: 'What a gateway would answer; 200 stands for whatever the upstream answers.' })
  status: number;

  @ApiPropertyOptional({
    type: String,
    example: 'slow',
    description:
      'Only of a request over a limit whose rule reroutes: the route of the gateway to which it goes instead. A gateway without such a route refuses, as the rest says.',
  })
  reroutedTo?: string;
}

class WhyNotView {
  @ApiProperty({ enum: WHY_NOT })
  code: string;

  @ApiProperty({
    type: String,
    example: 'match.paths',
    description: 'The first part of the rule that failed; for a condition, the field of the request.',
  })
  field: string;

  @ApiProperty({ ...ANY_JSON, description: 'The value that the rule demands.', example: ['/transactions/**'] })
  expected: unknown;

  @ApiProperty({
    ...ANY_JSON,
    description: 'What the request has, long texts cut off; null: it does not have the field.',
    example: '/reports',
  })
  got: unknown;
}

class OverrideInForce {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, format: 'date-time' })
  until: string;
}

class ConsideredView {
  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'card payments' })
  name: string;

  @ApiProperty({ enum: ['merchant', 'plan', 'default'] })
  source: 'merchant' | 'plan' | 'default';

  @ApiProperty({ enum: MODES, description: 'The mode of the rule for this request.' })
  mode: string;

  @ApiProperty({ type: Boolean, description: 'Whether its conditions hold, be it chosen or displaced.' })
  matched: boolean;

  @ApiPropertyOptional({ type: WhyNotView, nullable: true, description: 'Why the rule was not chosen; null for the chosen rule.' })
  why: WhyNotView | null;

  @ApiProperty({ type: OverrideInForce, nullable: true, description: 'The override that is in force for the merchant.' })
  override: OverrideInForce | null;
}

class LayerView {
  @ApiProperty({ enum: LAYERS })
  layer: Layer;

  @ApiProperty({ type: String, nullable: true, example: '17', description: 'The rule that is enforced; null if none matches.' })
  chosen: string | null;

  @ApiProperty({ type: [ConsideredView], description: 'Every rule of the layer, in the order in which they are asked.' })
  considered: ConsideredView[];
}

class ExplainedBucket {
  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'burst' })
  limit: string;

  @ApiProperty({ type: [String], example: ['merchant'] })
  key: readonly string[];

  @ApiProperty({ type: 'integer', example: 7, description: 'Tokens that are left now, without those that are kept for other requests.' })
  remaining: number;

  @ApiPropertyOptional({
    type: 'integer',
    example: 20,
    description:
      'Only where the rule reserves some for other routes: the tokens that this request has to leave, whether or not they are there.',
  })
  withheld?: number;

  @ApiProperty({ type: 'integer', nullable: true, example: 0, description: 'Milliseconds until the request would pass; null: never.' })
  retryAfterMs: number | null;

  @ApiProperty({ type: 'integer', example: 600, description: 'Milliseconds until the bucket is full if it is left alone.' })
  resetAfterMs: number;
}

/** A switch that is on and concerns the merchant. The layers are those that it leaves. */
export class ExplainedSwitch extends SwitchScopeView {
  @ApiProperty({
    enum: SWITCH_NAMES,
    description: 'kill: rules in its scope are not considered; shadow: they are counted and refuse nothing',
  })
  name: SwitchName;
}

export class Explanation {
  @ApiProperty({ type: ExplainedVerdict })
  verdict: ExplainedVerdict;

  @ApiProperty({ type: [LayerView] })
  layers: LayerView[];

  @ApiProperty({ type: [ExplainedBucket], description: 'The buckets of the chosen rules, as they are now.' })
  buckets: ExplainedBucket[];

  @ApiProperty({ type: 'integer', description: 'Shadow rules that would have refused.' })
  shadowRefusals: number;

  @ApiProperty({ type: [ExplainedSwitch], description: 'What is switched on and concerns the merchant; nearly always nothing.' })
  switches: ExplainedSwitch[];
}
