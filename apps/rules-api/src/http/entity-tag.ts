import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemError } from '#platform';
import type { ExpectedVersions } from '#rules-db';

/** What has an identity and a version, as the API shows it. */
export interface Versioned {
  readonly id?: string;
  readonly version: number;
}

/** The strong ETag of a version: `"3"`. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/**
 * The versions that If-Match allows to be replaced. `*` allows any: for scripts that mean to overwrite. Weak and foreign
 * tags never match.
 * @throws ProblemError 428 without the header, 400 when it is malformed
 */
export function expectedVersions(ifMatch: string | undefined): ExpectedVersions {
  if (ifMatch === undefined) {
    throw new ProblemError({
      status: 428,
      code: 'if_match.missing',
      detail: "send If-Match with the ETag that you have read, so that nobody's change is lost; * overwrites whatever is there",
    });
  }
  const text = ifMatch.trim();
  if (text === '*') return 'any';
  if (!/^(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*$/.test(text)) {
    throw new ProblemError({ status: 400, code: 'if_match.malformed', detail: 'If-Match must be * or ETags in double quotes, like "3"' });
  }
  return [...text.matchAll(/(W\/)?"([^"]*)"/g)]
    .filter(([, weak, tag]) => weak === undefined && /^[1-9]\d{0,9}$/.test(tag ?? ''))
    .map(([, , tag]) => Number(tag));
}

/** The versions that the request's If-Match allows to be replaced. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): ExpectedVersions => {
  return expectedVersions(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']);
});

/** The same, or undefined without the header: what is created has no version yet. */
export const OptionalIfMatch = createParamDecorator((_: unknown, context: ExecutionContext): ExpectedVersions | undefined => {
  const ifMatch = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
  return ifMatch === undefined ? undefined : expectedVersions(ifMatch);
});

/** Answers with a resource and its ETag. */
export function tagged<T extends Versioned>(reply: FastifyReply, resource: T): T {
  void reply.header('etag', entityTag(resource.version));
  return resource;
}

/** Answers with a resource that was just made below the path of the request. */
export function created<T extends Versioned & { readonly id: string }>(reply: FastifyReply, resource: T): T {
  return tagged(reply, located(reply, resource));
}

/** The same for what has no versions. */
export function located<T extends { readonly id: string }>(reply: FastifyReply, resource: T): T {
  const [path] = reply.request.url.split('?');
  void reply.header('location', `${path}/${encodeURIComponent(resource.id)}`);
  return resource;
}
