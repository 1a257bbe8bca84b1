import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type RuleSource, writingFaults } from '#limiter';
import { tableDto } from '../http/table-dto.js';
import { RuleWarningView } from '../rules/rule.dto.js';
import { PREVIEW_FIELDS, PREVIEW_QUERY_FIELDS } from './preview-fields.js';

/** A draft has to be one that could be written. */
export class PreviewDto extends tableDto('preview', PREVIEW_FIELDS, ({ rule }) =>
  writingFaults(rule).map((fault) => ({ ...fault, pointer: `/rule${fault.pointer}` })),
) {}

export class PreviewQueryDto {
  static readonly code = 'query';
  static readonly fields = PREVIEW_QUERY_FIELDS;

  @ApiPropertyOptional({
    enum: PREVIEW_QUERY_FIELDS.format.values,
    default: PREVIEW_QUERY_FIELDS.format.default,
    description: PREVIEW_QUERY_FIELDS.format.explanation,
  })
  format: 'json' | 'svg';
}

class NamedRuleView {
  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'card payments' })
  name: string;

  @ApiProperty({ enum: ['merchant', 'default'] })
  source: RuleSource;

  @ApiProperty({ type: 'integer', example: 100 })
  priority: number;
}

class RefusalsOfRuleView {
  @ApiProperty({ type: String, nullable: true, example: '17', description: 'The id of the rule; null for a draft of a new rule.' })
  ruleId: string | null;

  @ApiProperty({ type: String, example: 'card payments' })
  name: string;

  @ApiProperty({ type: 'integer', description: 'Requests that the rule refuses as it stands. Several rules may refuse one request.' })
  refusedNow: number;

  @ApiProperty({ type: 'integer', description: 'Requests that it would refuse.' })
  refusedThen: number;
}

class RefusalCounts {
  @ApiProperty({ type: 'integer' })
  requests: number;

  @ApiProperty({ type: 'integer' })
  refusedNow: number;

  @ApiProperty({ type: 'integer' })
  refusedThen: number;
}

class RefusalsOfRequestsView extends RefusalCounts {
  @ApiProperty({ type: String, example: 'POST' })
  method: string;

  @ApiProperty({ type: String, example: '/transactions' })
  path: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '192.0.2.7',
    description: 'The address of the client; a hash of it if the request was recorded.',
  })
  ip: string | null;
}

class RefusalsAtView extends RefusalCounts {
  @ApiProperty({ type: String, format: 'date-time', description: 'When the step begins.' })
  at: string;
}

export class ReplayView {
  @ApiProperty({ type: 'integer', description: 'Requests that were replayed.' })
  requests: number;

  @ApiProperty({ type: 'integer', description: 'Requests that are refused by the rules that stand.' })
  refusedNow: number;

  @ApiProperty({ type: 'integer', description: 'Requests that would be refused with the draft.' })
  refusedThen: number;

  @ApiProperty({ type: 'integer', description: 'What rules in the mode shadow would refuse, as they stand.' })
  shadowNow: number;

  @ApiProperty({ type: 'integer', description: 'What rules in the mode shadow would refuse with the draft.' })
  shadowThen: number;

  @ApiProperty({ type: [RefusalsOfRuleView], description: 'Rules that refuse anything, those that would refuse most first.' })
  byRule: RefusalsOfRuleView[];

  @ApiProperty({ type: [RefusalsOfRequestsView], description: 'The kinds of requests for which most would change, at most 20.' })
  mostAffected: RefusalsOfRequestsView[];

  @ApiProperty({ type: 'integer', description: 'Milliseconds of a step of the series.' })
  stepMs: number;

  @ApiProperty({ type: [RefusalsAtView], description: 'For a chart: at most 241 steps, without a gap.' })
  series: RefusalsAtView[];

  @ApiProperty({ type: Boolean, description: 'Whether the time was up before all requests were replayed.' })
  truncated: boolean;
}

class SampleWeightView {
  @ApiProperty({ type: Number, example: 1000, description: 'How many requests a recorded one that passed stands for; 0 if none passed.' })
  passed: number;

  @ApiProperty({
    type: Number,
    example: 1,
    description: 'How many requests a recorded refusal stands for: 1, unless more were refused than there was room to record.',
  })
  refused: number;
}

export class RecordedSampleView {
  @ApiProperty({ type: String, format: 'date-time', description: 'The first request that is replayed.' })
  from: string;

  @ApiProperty({ type: String, format: 'date-time', description: 'The time of the last request that is replayed.' })
  to: string;

  @ApiProperty({ type: 'integer', description: 'Requests that gateways have recorded.' })
  recorded: number;

  @ApiProperty({ type: 'integer', description: 'Requests that are replayed: as many as the recorded ones stand for.' })
  requests: number;

  @ApiProperty({ type: SampleWeightView, description: 'How many requests a recorded one stands for on average.' })
  weight: SampleWeightView;

  @ApiProperty({ type: 'integer', description: 'Recorded requests whose paths are too long to be replayed.' })
  leftOut: number;
}

export class Preview {
  @ApiProperty({ type: [NamedRuleView], description: 'Rules that the draft would make unreachable.' })
  shadows: readonly NamedRuleView[];

  @ApiProperty({
    type: [NamedRuleView],
    description: 'Rules that make the draft unreachable: each matches whatever it matches, and is asked first.',
  })
  shadowedBy: readonly NamedRuleView[];

  @ApiProperty({ type: [NamedRuleView], description: 'Rules that are unreachable now, and would not be with the draft.' })
  uncovers: readonly NamedRuleView[];

  @ApiProperty({ type: [RuleWarningView], description: 'What is probably a mistake in the draft.' })
  warnings: readonly RuleWarningView[];

  @ApiPropertyOptional({ type: RecordedSampleView, description: 'What the sample was made of, if it is recorded traffic.' })
  sample?: RecordedSampleView;

  @ApiPropertyOptional({ type: ReplayView, description: 'What the replay of the sample found; absent without a sample.' })
  replay?: ReplayView;
}
