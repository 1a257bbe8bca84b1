import { headerValues, unreadableByHead } from '#edge';
import { type BodyFacts, bodyOfText, MOST_BODY_BYTES, NO_BODY, type RequestFacts, unreadableBody } from '#limiter';
import type { NodeRequest } from './node-http.js';
import { ROUTE_HEADER } from './route-name.js';

const NONE: readonly string[] = [];

export interface ToldFacts {
  readonly route: string | undefined;
  readonly country: string | undefined;
  /** Undefined: nobody has parsed it. */
  readonly body: unknown;
}

/** What few rules look at. It is put into their form when one does. */
export class MessageFacts implements RequestFacts {
  private readable: BodyFacts | undefined;

  constructor(
    private readonly request: NodeRequest,
    private readonly told: ToldFacts,
  ) {}

  get country(): string | undefined {
    return this.told.country;
  }

  /** The first one, if there are several: that is what frameworks show. */
  get hostName(): string | undefined {
    const { host, ':authority': authority } = this.request.headers;
    return host ?? (typeof authority === 'string' ? authority : undefined);
  }

  get body(): BodyFacts {
    return (this.readable ??= bodyFactsOf(this.told.body, this.request));
  }

  /** The host is a field of its own. */
  headerValues(name: string): readonly string[] {
    if (name === 'host') return NONE;
    if (name !== ROUTE_HEADER) return headerValues(this.request.rawHeaders, name);
    const { route } = this.told;
    return route === undefined ? NONE : [route];
  }
}

/** Declared length in bytes; below 0 if there is a body of which nobody says how long it is. */
export function bodyLengthOf({ headers }: NodeRequest): number {
  if (headers['transfer-encoding'] !== undefined) return -1;
  const length = headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

/**
 * What a handler finds in the body, which is what the rules have to look at: a parser may have read it otherwise than we would. What nobody has parsed, or no parser of
 * fields has, is not readable.
 */
function bodyFactsOf(parsed: unknown, request: NodeRequest): BodyFacts {
  if (bodyLengthOf(request) === 0) return NO_BODY;
  if (parsed === undefined) return unreadableBody('incomplete');
  if (typeof parsed === 'string' || ArrayBuffer.isView(parsed)) return unreadableBody('other_type');
  const text = jsonOf(parsed);
  // A parser that found nothing to its taste leaves an empty object behind, as that of Express 4 does.
  if (text === undefined || (text === '{}' && !isJson(request))) return unreadableBody('other_type');
  return Buffer.byteLength(text) > MOST_BODY_BYTES ? unreadableBody('too_large') : bodyOfText(text);
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}

function isJson({ rawHeaders }: NodeRequest): boolean {
  return unreadableByHead({ headerValues: (name) => headerValues(rawHeaders, name) }, 0) === undefined;
}
