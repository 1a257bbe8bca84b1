import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { located } from '../http/entity-tag.js';
import { ShownOnce } from '../http/idempotency.interceptor.js';
import { TokenIdPipe } from '../http/path-ids.js';
import { CreatesUnversioned, DeletesAny, Does, Lists, ReadsUnversioned } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { CreateTokenDto, NewTokenView, RotateTokenDto, TokenPage, TokenView } from './token.dto.js';
import { TokensService } from './tokens.service.js';

@ApiTags('tokens')
@Controller('v1/tokens')
@UseInterceptors(DatabaseInterceptor)
export class TokensController {
  constructor(@Inject(TokensService) private readonly tokens: TokensService) {}

  @Post()
  @Needs('admin', 'nothing')
  @ShownOnce()
  @CreatesUnversioned('Create a token', NewTokenView)
  async create(
    @Body() body: CreateTokenDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewTokenView> {
    return located(reply, await this.tokens.create(body, by));
  }

  @Get()
  @Needs('admin', 'nothing')
  @Lists('List tokens in the order of their creation', TokenPage)
  async list(@Query() query: PageQueryDto): Promise<Page<TokenView>> {
    return this.tokens.list(query);
  }

  @Get(':tokenId')
  @Needs('admin', 'nothing')
  @ReadsUnversioned('Read what is known of a token', TokenView)
  async get(@Param('tokenId', TokenIdPipe) id: string): Promise<TokenView> {
    return this.tokens.get(id);
  }

  @Post(':tokenId/rotate')
  @HttpCode(200)
  @Needs('admin', 'nothing')
  @ShownOnce()
  @Does('Replace a token by a new one; the former is good for a while', NewTokenView)
  async rotate(@Param('tokenId', TokenIdPipe) id: string, @Body() body: RotateTokenDto, @CurrentActor() by: Actor): Promise<NewTokenView> {
    return this.tokens.rotate(id, body, by);
  }

  @Delete(':tokenId')
  @HttpCode(204)
  @Needs('admin', 'nothing')
  @DeletesAny('Revoke a token')
  async delete(@Param('tokenId', TokenIdPipe) id: string, @CurrentActor() by: Actor): Promise<void> {
    await this.tokens.delete(id, by);
  }
}
