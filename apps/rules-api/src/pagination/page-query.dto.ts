import { ApiPropertyOptional } from '@nestjs/swagger';
import type { Fields } from '#limiter';
import { CURSOR_EXPECTED } from './page.js';

const MAX_PAGE_SIZE = 200;
const DEFAULT_PAGE_SIZE = 50;
const PAGE_SIZE_EXPECTED = `must be a whole number from 1 to ${MAX_PAGE_SIZE}`;

/** Longer than any cursor of the longest merchant id. */
const MAX_CURSOR_LENGTH = 2_048;
const CURSOR_PATTERN = /^[\w-]+$/;

/** Query parameters are text. */
const FIELDS = {
  limit: {
    kind: 'text',
    format: {
      expected: PAGE_SIZE_EXPECTED,
      fault: (text) => (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_PAGE_SIZE ? undefined : PAGE_SIZE_EXPECTED),
      schema: {},
    },
    default: String(DEFAULT_PAGE_SIZE),
    explanation: 'Items of a page.',
  },
  cursor: {
    kind: 'text',
    format: {
      expected: CURSOR_EXPECTED,
      fault: (text) => (CURSOR_PATTERN.test(text) && text.length <= MAX_CURSOR_LENGTH ? undefined : CURSOR_EXPECTED),
      schema: { maxLength: MAX_CURSOR_LENGTH, pattern: CURSOR_PATTERN.source },
    },
    explanation: 'The nextCursor of the page before.',
  },
} as const satisfies Fields;

/** The query of a list. */
export class PageQueryDto {
  static readonly code = 'query';
  static readonly fields = FIELDS;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: DEFAULT_PAGE_SIZE,
    description: FIELDS.limit.explanation,
  })
  limit: string;

  @ApiPropertyOptional({ type: String, ...FIELDS.cursor.format.schema, description: FIELDS.cursor.explanation })
  cursor?: string;

  /** Items of the page. */
  get size(): number {
    return Number(this.limit);
  }
}
