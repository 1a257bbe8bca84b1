import { ApiProperty } from '@nestjs/swagger';
import type { ApiTokenEntity, MerchantApiKeyEntity } from '#rules-db';

/** What the API shows of a secret that can be rotated and may expire: a token, or an API key. Never the secret. */
export abstract class RotatingSecretView {
  @ApiProperty({ type: String, example: '5f0c2a91be04', description: 'Stands in the secret behind tga_ or tgk_' })
  prefix: string;

  @ApiProperty({ type: String, nullable: true, description: 'The prefix before the last rotation' })
  formerPrefix: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Until when the former secret is good' })
  formerUntil: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  expiresAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'To the minute' })
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
