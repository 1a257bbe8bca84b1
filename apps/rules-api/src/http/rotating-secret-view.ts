import { ApiProperty } from '@nestjs/swagger';
import type { ApiTokenEntity, MerchantApiKeyEntity } from '#rules-db';

/** What the API shows of a secret that can be rotated and may expire: a token, or an API key. Never the secret. */
export abstract class RotatingSecretView {
  @ApiProperty({
    type: String,
    example: '5f0c2a91be04',
    description: 'The part of the secret behind tga_ or tgk_ by which it is recognised',
  })
  prefix: string;

  @ApiProperty({ type: String, nullable: true, description: 'The prefix before the last rotation' })
  formerPrefix: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'The time until which the former secret is valid' })
  formerUntil: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  expiresAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'The time of its last use, to the minute' })
  lastUsedAt: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;
}

export function rotatingSecretView(secret: ApiTokenEntity | MerchantApiKeyEntity): RotatingSecretView {
  const { prefix, formerPrefix, formerUntil, expiresAt, lastUsedAt, createdAt } = secret;
  const text = (at: Date | null) => at?.toISOString() ?? null;
  return {
    prefix,
    formerPrefix,
    formerUntil: text(formerUntil),
    expiresAt: text(expiresAt),
    lastUsedAt: text(lastUsedAt),
    createdAt: createdAt.toISOString(),
  };
}
