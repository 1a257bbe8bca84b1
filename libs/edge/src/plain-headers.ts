/** One line behind the line before: a name that is a token, and a value of printable ASCII. Nothing stands behind the value here, so that it takes one pass whatever is sent. */
const LINE = /\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e]*)/y;

/** They say what becomes of the body or of the connection. */
const LEFT_TO_NODE = new Set(['connection', 'proxy-connection', 'transfer-encoding', 'upgrade', 'expect', 'trailer', 'http2-settings']);

/**
 * The headers of a request that every server reads in the same way: each on one line, without bare line ends, zeros or bytes beyond ASCII, and none that says what becomes of
 * the body (but for its length) or of the connection.
 *
 * @param text of the head, a character each byte, without the empty line at its end
 * @param at where the request line ends
 * @returns names and values alternating, as node hands them out; undefined: somebody else has to judge
 */
export function plainHeaders(text: string, at: number): string[] | undefined {
  const headers: string[] = [];
  let end = at;
  while (end < text.length) {
    LINE.lastIndex = end;
    const line = LINE.exec(text);
    if (line === null) return undefined;
    end = LINE.lastIndex;
    const name = line[1]!;
    const value = line[2]!;
    // Node takes none behind a length.
    if (endsWithSpace(value)) return undefined;
    if (LEFT_TO_NODE.has(name.toLowerCase()) && !keepsAlive(name, value)) return undefined;
    headers.push(name, value);
  }
  return headers;
}

/** What HTTP/1.1 does anyway. */
function keepsAlive(name: string, value: string): boolean {
  return name.toLowerCase() === 'connection' && value.toLowerCase() === 'keep-alive';
}

function endsWithSpace(value: string): boolean {
  return value.endsWith(' ') || value.endsWith('\t');
}
