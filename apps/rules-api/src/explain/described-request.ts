import { canonicalAddress } from '#addresses';
import { type BodyFacts, bodyOfText, type Descriptor, MOST_BODY_BYTES, NO_BODY, unreadableBody } from '#limiter';
import type { ExplainDto } from './explain.dto.js';

/** The descriptor that a gateway would make of a request that somebody has described. */
export function describedRequest(merchantId: string, request: NonNullable<ExplainDto['request']>): Descriptor {
  const { method, path, ip = '', headers = {}, user, apiKey, jwt, country, body } = request;
  const values = (name: string) => Object.entries(headers).flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []));
  return {
    merchantId,
    ip: canonicalAddress(ip),
    method,
    target: path,
    user,
    apiKey,
    jwt: jwt && JSON.stringify(jwt),
    more: { headerValues: (name) => (name === 'host' ? [] : values(name)), hostName: values('host')[0], country, body: bodyOf(body) },
  };
}

function bodyOf(body: unknown): BodyFacts {
  if (body === undefined) return NO_BODY;
  const text = JSON.stringify(body);
  return Buffer.byteLength(text) > MOST_BODY_BYTES ? unreadableBody('too_large') : bodyOfText(text);
}
