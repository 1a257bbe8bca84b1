import { canonicalAddress } from '#addresses';
import type { Descriptor } from '#limiter';
import type { ExplainDto } from './explain.dto.js';

/** The descriptor that a gateway would make of a request that somebody has described. */
export function describedRequest(merchantId: string, request: NonNullable<ExplainDto['request']>): Descriptor {
  const { method, path, ip = '', headers = {}, user, apiKey, jwt, country } = request;
  const values = (name: string) => Object.entries(headers).flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []));
  return {
    merchantId,
    ip: canonicalAddress(ip),
    method,
    target: path,
    user,
    apiKey,
    jwt: jwt && JSON.stringify(jwt),
    more: { headerValues: (name) => (name === 'host' ? [] : values(name)), hostName: values('host')[0], country },
  };
}
