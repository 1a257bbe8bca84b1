import { canonicalAddress } from '#addresses';
import { type BodyFacts, bodyOfText, type Descriptor, MOST_BODY_BYTES, NO_BODY, type RequestFacts, unreadableBody } from '#limiter';

/**
 * A request about which a decision is asked, by the names that rules have for what stands in it. Everything has been validated; what a door cannot tell is left out, and
 * is absent for rules.
 */
export interface CheckRequest {
  readonly merchant: string;
  readonly user?: string | undefined;
  readonly apiKey?: { readonly id: string; readonly labels?: Readonly<Record<string, string>> } | undefined;
  readonly ip?: string | undefined;
  /** ISO 3166-1 alpha-2, in capitals. */
  readonly country?: string | undefined;
  /** In capitals. Without one, rules for certain methods do not match. */
  readonly method?: string | undefined;
  /** With the query, percent-encoded; `/` unless given. */
  readonly path?: string | undefined;
  readonly host?: string | undefined;
  /** By name, in any case. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Claims of the token with which the request came. */
  readonly jwt?: Readonly<Record<string, unknown>> | undefined;
  /** Any JSON. */
  readonly body?: unknown;
  /** Whether there may be a body that nobody has looked at: then its fields are not absent but unknown. */
  readonly bodyUnknown?: boolean | undefined;
  /** For how many such requests this asks: each limit is asked for so many times what its rule says. One unless given; 0 takes nothing. */
  readonly cost?: number | undefined;
  /** Whether what is taken is to be refunded or settled later, by the name that the decision then has. */
  readonly wantClaim?: boolean | undefined;
}

/** @param target the path as the path policy has left it */
export function descriptorOf(request: CheckRequest, target: string, ignorePathCase: boolean): Descriptor {
  const { merchant: merchantId, ip = '', method = '', user, apiKey, jwt, cost: times } = request;
  return {
    merchantId,
    ip: canonicalAddress(ip),
    method,
    target,
    ignorePathCase,
    user,
    apiKey,
    jwt: jwt && JSON.stringify(jwt),
    times,
    more: new ToldFacts(request),
  };
}

const NONE: readonly string[] = [];

/** What few rules look at. It is put into their form when one does. */
class ToldFacts implements RequestFacts {
  private headers: Map<string, string[]> | undefined;
  private readableBody: BodyFacts | undefined;

  constructor(private readonly request: CheckRequest) {}

  get country(): string | undefined {
    return this.request.country;
  }

  get hostName(): string | undefined {
    return this.request.host ?? this.values('host')[0];
  }

  get body(): BodyFacts {
    return (this.readableBody ??= bodyOf(this.request));
  }

  /** The host is a field of its own. */
  headerValues(name: string): readonly string[] {
    return name === 'host' ? NONE : this.values(name);
  }

  private values(name: string): readonly string[] {
    this.headers ??= headersByName(this.request.headers ?? {});
    return this.headers.get(name) ?? NONE;
  }
}

function headersByName(headers: NonNullable<CheckRequest['headers']>): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase();
    byName.set(name, [...(byName.get(name) ?? []), ...(typeof value === 'string' ? [value] : value)]);
  }
  return byName;
}

function bodyOf({ body, bodyUnknown }: CheckRequest): BodyFacts {
  if (bodyUnknown === true) return unreadableBody('incomplete');
  if (body === undefined) return NO_BODY;
  const text = JSON.stringify(body);
  return Buffer.byteLength(text) > MOST_BODY_BYTES ? unreadableBody('too_large') : bodyOfText(text);
}
