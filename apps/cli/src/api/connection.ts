import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { notStarted } from '../shared/command-error.js';

/** A Rules API and the token with which it is asked. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string;
}

/** Where `login` keeps a connection. */
export function loginFile(env: NodeJS.ProcessEnv): string {
  const folder = env['XDG_CONFIG_HOME'] || (process.platform === 'win32' && env['APPDATA']) || join(env['HOME'] || homedir(), '.config');
  return join(folder, 'tollgate', 'login.json');
}

/** The address of a Rules API, as it is typed. @throws CommandError */
export function apiUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) {
    return url.href.replace(/\/+$/, '');
  }
  throw notStarted(
    `The address of the Rules API must be a URL like https://rules.example.com, without a token in it; got ${text || 'nothing'}.`,
  );
}

/**
 * The connection of the environment, or else the one of the last login. The token of the login goes to its own address only.
 * @throws CommandError
 */
export function connectionOf(env: NodeJS.ProcessEnv): Connection {
  const [given, token] = [env['TOLLGATE_URL'], env['TOLLGATE_TOKEN']];
  const login = given && token ? undefined : readLogin(loginFile(env));
  const url = given ? apiUrl(given) : login?.url;
  if (url && token) return { url, token };
  if (url && login?.url === url) return login;
  throw notStarted(
    url
      ? `There is no token for ${url}. Say npx tollgate login ${url}, or set TOLLGATE_TOKEN.`
      : 'There is no Rules API to ask. Say npx tollgate login URL, or set TOLLGATE_URL and TOLLGATE_TOKEN.',
  );
}

/** Only the user can read it, from the first byte on. */
export function keepLogin(file: string, connection: Connection): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(connection)}\n`, { mode: 0o600 });
  chmodSync(unfinished, 0o600);
  renameSync(unfinished, file);
}

function readLogin(file: string): Connection | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const { url, token } = JSON.parse(text) as Record<string, unknown>;
    if (typeof url === 'string' && typeof token === 'string') return { url: apiUrl(url), token };
  } catch {
    // Said below.
  }
  throw notStarted(`${file} is not what npx tollgate login has written. Log in again.`);
}
