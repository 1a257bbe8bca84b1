import { plainHead } from './plain-head.js';

const LINES = ['POST /v1/check HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 2'];

const head = (...lines: string[]) => plainHead(Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`, 'latin1'));

test('a plain head is read: its path, the length of its body, and who asks', () => {
  const read = head(
    ...LINES,
    'Authorization: Bearer t',
    'x-tollgate-token:  u\t',
    'X-Request-Id: r-1',
    'Connection: Keep-Alive',
    'Accept: */*',
  );
  expect(read).toEqual({
    bytes: expect.any(Buffer),
    path: '/v1/check',
    bodyBytes: 2,
    requestId: 'r-1',
    headers: { authorization: 'Bearer t', 'x-tollgate-token': 'u' },
  });
  expect(read!.bytes.toString().endsWith('\r\n\r\n')).toBe(true);
});

test('a request id that could do harm is none', () => {
  expect(head(...LINES, 'X-Request-Id: a b')!.requestId).toBeUndefined();
});

test('an inherited name is a header like any other', () => {
  expect(head(...LINES, '__proto__: x', 'constructor: y')?.bodyBytes).toBe(2);
});

test.each([
  ['no host', LINES.filter((line) => !line.startsWith('Host'))],
  ['two hosts', [...LINES, 'host: y']],
  ['no length', LINES.slice(0, 3)],
  ['two lengths', [...LINES, 'content-length: 2']],
  ['a length with a sign', [...LINES.slice(0, 3), 'Content-Length: +2']],
  ['a length with zeros in front', [...LINES.slice(0, 3), 'Content-Length: 02']],
  ['a length in hexadecimal', [...LINES.slice(0, 3), 'Content-Length: 0x2']],
  ['a list of lengths', [...LINES.slice(0, 3), 'Content-Length: 2, 2']],
  ['no body', [...LINES.slice(0, 3), 'Content-Length: 0']],
  ['another type', [...LINES.slice(0, 2), 'Content-Type: text/plain', LINES[3]!]],
  ['two types', [...LINES, 'Content-Type: application/json']],
  ['chunks', [...LINES, 'Transfer-Encoding: chunked']],
  ['chunks that are hidden', [...LINES, 'Transfer-Encoding : chunked']],
  ['a connection that closes', [...LINES, 'Connection: close']],
  ['a connection that names headers', [...LINES, 'Connection: keep-alive, host']],
  ['a connection that closes, as old proxies say it', [...LINES, 'Proxy-Connection: close']],
  ['another protocol', [...LINES, 'Upgrade: h2c']],
  ['a question before the body', [...LINES, 'Expect: 100-continue']],
  ['two tokens', [...LINES, 'authorization: a', 'Authorization: b']],
  ['two request ids', [...LINES, 'x-request-id: a', 'x-request-id: b']],
  ['a query', ['POST /v1/check?asStatus=true HTTP/1.1', ...LINES.slice(1)]],
  ['a whole address', ['POST http://x/v1/check HTTP/1.1', ...LINES.slice(1)]],
  ['another method', ['GET /v1/check HTTP/1.1', ...LINES.slice(1)]],
  ['another version', ['POST /v1/check HTTP/1.0', ...LINES.slice(1)]],
  ['two spaces', ['POST  /v1/check HTTP/1.1', ...LINES.slice(1)]],
  ['a line in front', ['', ...LINES]],
  ['a folded line', [...LINES, 'A: b', ' c']],
  ['a line without a name', [...LINES, ': b']],
  ['a bare line feed', [...LINES, 'A: b\nTransfer-Encoding: chunked']],
  ['a bare carriage return', [...LINES, 'A: b\rTransfer-Encoding: chunked']],
  ['a zero', [...LINES, 'A: b\0c']],
  ['bytes beyond ASCII', [...LINES, 'A: \xe9']],
  ['very much', [...LINES, `A: ${'x'.repeat(9_000)}`]],
])('a head with %s is left to node', (_what, lines) => {
  expect(head(...lines)).toBeUndefined();
});

test('a head that is not whole is left to node', () => {
  expect(plainHead(Buffer.from(LINES.join('\r\n')))).toBeUndefined();
  expect(plainHead(Buffer.alloc(0))).toBeUndefined();
});
