import type { HeaderField } from './header-table.js';

/** The head of a request: RFC 9113, 8.3. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** Other headers by their names; those that came more than once, joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
// eslint-disable-next-line no-control-regex -- what no value has: RFC 9113, 8.2.1
const NO_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/;
const OF_CONNECTIONS = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);
const PSEUDO = new Set([':method', ':scheme', ':path', ':authority']);
const LENGTH = /^\d{1,15}$/;

/** Undefined: this is no request. */
export function requestHead(fields: readonly HeaderField[]): RequestHead | undefined {
  const pseudo = new Map<string, string>();
  const headers = new Map<string, string>();
  for (const { name, value } of fields) {
    if (NO_VALUE.test(value)) return undefined;
    if (name.startsWith(':')) {
      if (headers.size > 0 || pseudo.has(name) || !PSEUDO.has(name)) return undefined;
      pseudo.set(name, value);
    } else {
      if (!isHeader(name, value)) return undefined;
      const before = headers.get(name);
      headers.set(name, before === undefined ? value : `${before}, ${value}`);
    }
  }
  const [method, path] = [pseudo.get(':method'), pseudo.get(':path')];
  if (!method || !path || !pseudo.has(':scheme')) return undefined;
  const length = headers.get('content-length');
  if (length !== undefined && !LENGTH.test(length)) return undefined;
  return { method, path, headers };
}

/** What may stand behind the message of a request: no pseudo-header, nothing of connections. */
export function areTrailers(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name, value }) => isHeader(name, value) && !NO_VALUE.test(value));
}

function isHeader(name: string, value: string): boolean {
  return NAME.test(name) && !OF_CONNECTIONS.has(name) && (name !== 'te' || value === 'trailers');
}
