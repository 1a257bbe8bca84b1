import { Inject, Injectable } from '@nestjs/common';
import { type Actor, ApiTokenRepository, TokenNotFoundError } from '#rules-db';
import { TokenText } from '../auth/token-text.js';
import { futureMoment } from '../http/future-moment.js';
import { decodeCursor, encodeCursor, isIdPosition, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { type CreateTokenDto, type NewTokenView, type RotateTokenDto, tokenView, type TokenView } from './token.dto.js';

const LIST = 'tokens';

/** The tokens of administrators and machines. */
@Injectable()
export class TokensService {
  constructor(
    @Inject(ApiTokenRepository) private readonly tokens: ApiTokenRepository,
    @Inject(TokenText) private readonly tokenText: TokenText,
  ) {}

  async create({ name, role, merchants, label, expiresAt }: CreateTokenDto, by: Actor): Promise<NewTokenView> {
    const expiry = futureMoment(expiresAt, 'token');
    const made = this.tokenText.make();
    const reach = label === undefined ? { merchants: merchants ?? null } : { merchants: [], label };
    return {
      ...tokenView(await this.tokens.create({ name, role, ...reach, expiresAt: expiry }, made, by)),
      token: made.token,
    };
  }

  async list({ size, cursor }: PageQueryDto): Promise<Page<TokenView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isIdPosition)[0];
    const rows = await this.tokens.list({ after, limit: size + 1 });
    return toPage(rows, size, tokenView, ({ id }) => encodeCursor(LIST, [id]));
  }

  async get(id: string): Promise<TokenView> {
    const token = await this.tokens.find(id);
    if (!token) throw new TokenNotFoundError(id);
    return tokenView(token);
  }

  async rotate(id: string, { overlapSeconds }: RotateTokenDto, by: Actor): Promise<NewTokenView> {
    const made = this.tokenText.make();
    const formerUntil = new Date(Date.now() + overlapSeconds * 1000);
    return { ...tokenView(await this.tokens.rotate(id, made, formerUntil, by)), token: made.token };
  }

  async delete(id: string, by: Actor): Promise<void> {
    await this.tokens.delete(id, by);
  }
}
