import { ApiPropertyOptional } from '@nestjs/swagger';
import type { Fields } from '#limiter';

const FIELDS = {
  strict: {
    kind: 'choice',
    values: ['true', 'false'],
    default: 'false',
    explanation: 'With true a rule about which there is a warning is refused, and the answer names each warning as an error.',
  },
} as const satisfies Fields;

/** The query of what writes a rule. */
export class WriteQueryDto {
  static readonly code = 'query';
  static readonly fields = FIELDS;

  @ApiPropertyOptional({ type: Boolean, default: false, description: FIELDS.strict.explanation })
  strict: 'true' | 'false';
}

/** The names that such a query may have. */
export const WRITE_QUERY = Object.keys(FIELDS);
