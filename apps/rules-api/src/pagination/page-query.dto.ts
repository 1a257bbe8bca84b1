import { ApiPropertyOptional } from '@nestjs/swagger';
import { fault, Fits, type Check } from '../http/field-rules.js';

export const MAX_PAGE_SIZE = 200;
const DEFAULT_PAGE_SIZE = 50;

/** Longer than any cursor of the longest merchant id. */
const MAX_CURSOR_LENGTH = 2_048;

const pageSize: Check = (value) =>
  typeof value === 'string' && /^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_PAGE_SIZE
    ? []
    : fault(`must be a whole number from 1 to ${MAX_PAGE_SIZE}`, value);

const cursor: Check = (value) =>
  value === undefined || (typeof value === 'string' && /^[\w-]+$/.test(value) && value.length <= MAX_CURSOR_LENGTH)
    ? []
    : fault('must be the nextCursor of a page of this list', value);

/** The query of a list. Query parameters are text. */
export class PageQueryDto {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE, description: 'Items of a page' })
  @Fits(pageSize)
  limit: string = String(DEFAULT_PAGE_SIZE);

  @ApiPropertyOptional({
    type: String,
    maxLength: MAX_CURSOR_LENGTH,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'The nextCursor of the page before',
  })
  @Fits(cursor)
  cursor?: string;

  /** Items of the page. */
  get size(): number {
    return Number(this.limit);
  }
}
