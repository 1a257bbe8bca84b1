import { PATIENCE } from '../../support/patience.mjs';
import type { KeptRulesApi } from '../../support/kept-rules-api.mjs';
import { ADMIN_TOKEN, type RunningApp, startApp } from '../../support/processes.js';
import { freshDatabase } from '../../support/services.js';

export interface Answer {
  status: number;
  headers: Headers;
  /** The JSON of the answer; its text if it is YAML; undefined when it has no body. */
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests read what they expect
}

export interface Api {
  app: Pick<RunningApp, 'url' | 'logs'>;
  databaseUrl: string;
  /** Asks with the admin token and, where there is a body, as JSON; `headers` change that, and undefined takes a header away. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string | undefined>): Promise<Answer>;
  close(): Promise<void>;
}

/** What test/support/e2e-environment.mjs hands to end-to-end tests. */
declare global {
  var tollgateKeptRulesApi: (adminToken: string) => Promise<KeptRulesApi>;
}

/**
 * The Rules API as a process with the usual settings and an empty database. It is the one of this worker: a second call empties it for the first
 * caller too. Whoever needs other settings, or harms it, starts one of its own.
 */
export async function emptyRulesApi(): Promise<Api> {
  const { url, databaseUrl, logs } = await globalThis.tollgateKeptRulesApi(ADMIN_TOKEN);
  return {
    app: { url, logs },
    databaseUrl,
    ask: (method, path, body, headers) => ask(url, method, path, body, headers),
    close: () => Promise.resolve(),
  };
}

/** The Rules API as a process of a test's own, on a database of its own. */
export async function startRulesApi(env: Record<string, string> = {}): Promise<Api> {
  const database = await freshDatabase({ migrated: true });
  const app = await startApp('rules-api', { DATABASE_URL: database.url, ...env });
  return {
    app,
    databaseUrl: database.url,
    ask: (method, path, body, headers) => ask(app.url, method, path, body, headers),
    async close() {
      await app.stop();
      await database.drop();
    },
  };
}

/** One request to an app. A body that is text is sent as it is. */
export async function ask(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const all = {
    authorization: `Bearer ${ADMIN_TOKEN}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  };
  const answer = await fetch(url + path, {
    method,
    headers: Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000 * PATIENCE),
  });
  const text = await answer.text();
  const isYaml = answer.headers.get('content-type') === 'application/yaml';
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : isYaml ? text : (JSON.parse(text) as unknown) };
}
