import { ApiPropertyOptional } from '@nestjs/swagger';
import { type Fields, PLAN_NAME } from '#limiter';
import { LABEL_FILTER } from '../pagination/label-filter.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { MERCHANT_FIELDS } from './merchant-fields.js';

const FIELDS = {
  ...PageQueryDto.fields,
  name: {
    kind: 'text',
    format: MERCHANT_FIELDS.name.format,
    example: 'Acm',
    explanation: 'Only merchants whose name begins with this, in capitals or not.',
  },
  label: LABEL_FILTER,
  plan: { kind: 'text', format: PLAN_NAME, explanation: 'Only merchants that have this plan.' },
} as const satisfies Fields;

/** The query of the list of merchants. */
export class MerchantQueryDto extends PageQueryDto {
  static override readonly fields = FIELDS;

  @ApiPropertyOptional({ type: String, ...FIELDS.name.format.schema, description: FIELDS.name.explanation })
  name?: string;

  @ApiPropertyOptional({ type: String, ...LABEL_FILTER.format.schema, description: LABEL_FILTER.explanation })
  label?: string;

  @ApiPropertyOptional({ type: String, ...PLAN_NAME.schema, description: FIELDS.plan.explanation })
  plan?: string;
}
