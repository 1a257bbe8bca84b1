import { ApiProperty } from '@nestjs/swagger';

/** A field with the values of a bucket key, in the document. */
export const KeyProperty = (): PropertyDecorator =>
  ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { merchant: 'acme', ip: 'hmac:2Jx0cXb3m1QkVw0a' },
    description: 'The values of the bucket key. A value that may be personal is a keyed hash.',
  });
