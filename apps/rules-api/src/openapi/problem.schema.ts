import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { DEFAULT_PROBLEM_TYPE_BASE } from '#platform';

/** Where a request is wrong: `pointer` into the body, or `parameter` of the query. */
export class FieldErrorSchema {
  @ApiPropertyOptional({ type: String, description: 'JSON pointer into the body.', example: '/limits/0/capacity' })
  pointer?: string;

  @ApiPropertyOptional({ type: String, description: 'Name of a query parameter.', example: 'limit' })
  parameter?: string;

  @ApiProperty({ type: String, description: 'What is wrong, for programs.', example: 'limit.capacity.out_of_range' })
  code: string;

  @ApiProperty({ type: String, description: 'What is wrong, for people.', example: 'must be a whole number from 1 to 1000000000, got -5' })
  detail: string;
}

/** Problem details, RFC 9457. */
export class ProblemSchema {
  @ApiProperty({
    type: String,
    description: 'The kind of problem. The URL leads to a page about it.',
    example: `${DEFAULT_PROBLEM_TYPE_BASE}invalid-body`,
  })
  type: string;

  @ApiProperty({ type: String, description: 'What went wrong, for programs.', example: 'body.invalid' })
  code: string;

  @ApiProperty({ type: String, example: 'Bad Request' })
  title: string;

  @ApiProperty({ type: 'integer', example: 400 })
  status: number;

  @ApiProperty({ type: String, description: 'What went wrong, for people.', example: 'a field of the body is wrong' })
  detail: string;

  @ApiPropertyOptional({ type: String, description: 'The path of the request.', example: '/v1/merchants' })
  instance?: string;

  @ApiPropertyOptional({ type: [FieldErrorSchema] })
  errors?: FieldErrorSchema[];
}
