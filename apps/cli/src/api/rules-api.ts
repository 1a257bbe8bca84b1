import { failed, notStarted } from '../shared/command-error.js';
import { type Connection, connectionOf } from './connection.js';

/** Applying a large file takes minutes. */
const TIMEOUT_MS = 330_000;

/** Items of a page, the most that the API gives. */
const PAGE_SIZE = 200;

/** The code of a path that no route has. */
const UNKNOWN_CALL = 'route.not_found';

export interface Problem {
  readonly status: number;
  readonly code?: string;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer?: string; readonly parameter?: string; readonly detail: string }[];
}

export interface Request {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Asks a Rules API. What it refuses is a CommandError with its words. */
export class RulesApi {
  constructor(private readonly connection: Connection) {}

  static of(env: NodeJS.ProcessEnv): RulesApi {
    return new RulesApi(connectionOf(env));
  }

  /** The JSON of the answer; undefined if it has none. @param placeOf where the user finds what a pointer points to */
  async ask<T>(path: string, request: Request = {}, placeOf?: (pointer: string) => string): Promise<T> {
    const answer = await this.send(path, request);
    if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T;
    const problem = await problemIn(answer);
    if (problem.code !== UNKNOWN_CALL) throw failed(inWords(problem, placeOf));
    const call = `${request.method ?? 'GET'} ${path}`;
    throw failed(`The Rules API at ${this.connection.url} does not know ${call}: it is older than this command. Update it first.`);
  }

  /** The answer itself, whatever its status. */
  async send(path: string, { method = 'GET', query = {}, body, headers = {} }: Request = {}): Promise<Response> {
    const { url, token } = this.connection;
    const target = new URL(url + path);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, value);
    const all = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    try {
      return await fetch(target, {
        method,
        headers: sent,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      const cause = (error as Error).cause ?? error;
      throw notStarted(`No Rules API answers at ${url} (${(cause as Error).message || String((cause as { code?: unknown }).code)}).`);
    }
  }

  /** The first items of a list, over as many pages as it takes; `more` says whether there are others. */
  async list<T>(path: string, most: number, query: Request['query'] = {}): Promise<{ items: T[]; more: boolean }> {
    const items: T[] = [];
    for (let cursor: string | undefined; ;) {
      const limit = String(Math.min(PAGE_SIZE, most - items.length));
      const page: { items: T[]; nextCursor: string | null } = await this.ask(path, { query: { ...query, limit, cursor } });
      items.push(...page.items);
      if (page.nextCursor === null || items.length >= most) return { items, more: page.nextCursor !== null };
      cursor = page.nextCursor;
    }
  }
}

/** Header values of X-Change-Reason are bytes. */
export function reasonHeader(reason: string | undefined): NonNullable<Request['headers']> {
  return { 'x-change-reason': reason === undefined ? undefined : Buffer.from(reason).toString('latin1') };
}

export async function problemIn(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    const problem = JSON.parse(text) as Problem;
    if (typeof problem.detail === 'string') return problem;
  } catch {
    // Something else answers there.
  }
  return { status: answer.status, detail: `the server answered with status ${answer.status}, and not as a Rules API does` };
}

function inWords({ status, detail, errors = [] }: Problem, placeOf: (pointer: string) => string = (pointer) => pointer): string {
  const lines = errors.map(({ pointer, parameter, detail: fault }) => `  ${pointer === undefined ? parameter : placeOf(pointer)} ${fault}`);
  return [`Refused (${status}): ${detail}.`, ...lines].join('\n');
}
