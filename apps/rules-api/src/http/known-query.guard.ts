import { type CanActivate, type CustomDecorator, type ExecutionContext, Inject, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { PUBLIC_ROUTE } from '#platform';
import { invalidQuery } from './invalid-query.js';

const KNOWN_QUERY = 'rules-api:known-query';

const MAX_ERRORS = 20;
const MAX_NAME_LENGTH = 100;

/** The names that the query of a handler may have; none unless said. */
export const KnowsQuery = (...names: string[]): CustomDecorator => SetMetadata(KNOWN_QUERY, names);

/** Refuses a query with other names: a misspelt one would be a default that nobody asked for. */
@Injectable()
export class KnownQueryGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [context.getHandler(), context.getClass()])) return true;
    const known = this.reflector.get<readonly string[] | undefined>(KNOWN_QUERY, context.getHandler()) ?? [];
    const query = context.switchToHttp().getRequest<FastifyRequest>().query as Readonly<Record<string, unknown>>;
    const unknown = Object.keys(query).filter((name) => !known.includes(name));
    if (unknown.length === 0) return true;
    const names = [...known.slice(0, -2), known.slice(-2).join(' and ')].join(', ');
    const detail =
      known.length === 0 ? 'is not known here, and nothing else is' : `is not known here; ${names} ${known.length === 1 ? 'is' : 'are'}`;
    const errors = unknown
      .slice(0, MAX_ERRORS)
      .map((name) => ({ parameter: name.slice(0, MAX_NAME_LENGTH), code: 'query.unknown_parameter', detail }));
    throw invalidQuery(errors);
  }
}
