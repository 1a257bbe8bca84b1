import { ApiProperty, OmitType } from '@nestjs/swagger';
import { type ApiTokenEntity, ROLES, type Role } from '#rules-db';
import { RotatingSecretView, rotatingSecretView } from '../http/rotating-secret-view.js';
import { changeDto } from '../http/change-dto.js';
import { ROTATION_FIELDS, TOKEN_FIELDS, tokenFaults } from './token-fields.js';

export class CreateTokenDto extends changeDto('token', TOKEN_FIELDS, tokenFaults) {}

export class RotateTokenDto extends changeDto('token', ROTATION_FIELDS) {
  static override readonly mayBeAbsent = true;
}

/** A token as the API shows it, without the token. */
export class TokenView extends RotatingSecretView {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, example: 'deploy pipeline' })
  name: string;

  @ApiProperty({ enum: ROLES })
  role: Role;

  @ApiProperty({ type: [String], nullable: true })
  merchants: readonly string[] | null;

  @ApiProperty({ type: String, nullable: true, example: 'region=eu', description: 'The label of the merchants to which it is limited' })
  label: string | null;
}

/** The only answer that ever shows a token. */
export class NewTokenView extends OmitType(TokenView, [] as const) {
  @ApiProperty({ type: String, example: 'tga_5f0c2a91be04_…', description: 'Shown now and never again' })
  token: string;
}

export class TokenPage {
  @ApiProperty({ type: [TokenView] })
  items: TokenView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function tokenView(token: ApiTokenEntity): TokenView {
  const { id, name: called, role, merchants: limitedTo, label } = token;
  return { id, name: called, role, merchants: label === null ? limitedTo : null, label, ...rotatingSecretView(token) };
}
