import { beginsWith, bodyStart, bytesToCome, plainHead } from './plain-head.js';

const LINES = ['POST /v1/check HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 2'];

const head = (...lines: string[]) => plainHead(Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`, 'latin1'));

test('a plain head is read: its path, where its length stands, and who asks', () => {
  const lines = [...LINES, 'Authorization: Bearer t', 'x-tollgate-token:  u', 'X-Request-Id: r-1', 'Connection: Keep-Alive', 'Accept: */*'];
  const { before, behind, ...read } = head(...lines)!;
  expect(read).toEqual({ path: '/v1/check', requestId: 'r-1', headers: { authorization: 'Bearer t', 'x-tollgate-token': 'u' } });
  expect([before, behind].map(String).join('|')).toBe(`${lines.join('\r\n').replace('Content-Length: 2', 'Content-Length: |')}\r\n\r\n`);
});

describe('the head of before', () => {
  const bytesOf = (length: string, body: string, lines = LINES) =>
    Buffer.from(`${lines.slice(0, 3).join('\r\n')}\r\nContent-Length: ${length}\r\n\r\n${body}`);
  const before = plainHead(bytesOf('2', '{}'))!;

  it.each([
    ['the same length', '2', '{}', 0],
    ['another length', '12', '{"merchant":}'.slice(0, 12), 0],
    ['a body that is not whole', '3', '{}', 1],
    ['a body that has not come', '12', '', 12],
    ['more behind the body', '1', '{}', -1],
  ])('is known with %s', (_what, length, body, toCome) => {
    const chunk = bytesOf(length, body);
    expect(beginsWith(chunk, before)).toBe(true);
    expect(chunk.subarray(bodyStart(chunk, before)).toString()).toBe(body);
    expect(bytesToCome(chunk, before)).toBe(toCome);
  });

  it.each([
    ['a length with zeros in front', bytesOf('02', '{}')],
    ['no length', bytesOf('', '{}')],
    ['no body', bytesOf('0', '')],
    ['a length of very many digits', bytesOf('2000000', '{}')],
    ['a length with a fraction', bytesOf('2.0', '{}')],
    ['another header', bytesOf('2', '{}', [LINES[0]!, LINES[1]!, 'Content-Type: text/plain'])],
    ['a header more', bytesOf('2\r\nTransfer-Encoding: chunked', '{}')],
    ['half of it', bytesOf('2', '{}').subarray(0, 40)],
    ['its last byte missing', bytesOf('2', '').subarray(0, -1)],
    ['its last byte missing behind a longer length', bytesOf('123456', '').subarray(0, -1)],
    ['nothing', Buffer.alloc(0)],
  ])('is not taken for one with %s', (_what, chunk) => {
    expect(beginsWith(chunk, before) && bytesToCome(chunk, before) === 0).toBe(false);
  });
});

test('a request id that could do harm is none', () => {
  expect(head(...LINES, 'X-Request-Id: a b')!.requestId).toBeUndefined();
});

test('an inherited name is a header like any other', () => {
  expect(head(...LINES, '__proto__: x', 'constructor: y')?.path).toBe('/v1/check');
});

test.each([
  ['no host', LINES.filter((line) => !line.startsWith('Host'))],
  ['two hosts', [...LINES, 'host: y']],
  ['no length', LINES.slice(0, 3)],
  ['two lengths', [...LINES, 'content-length: 2']],
  ['a length with a sign', [...LINES.slice(0, 3), 'Content-Length: +2']],
  ['a length with zeros in front', [...LINES.slice(0, 3), 'Content-Length: 02']],
  ['a length in hexadecimal', [...LINES.slice(0, 3), 'Content-Length: 0x2']],
  ['a tab behind the length', [...LINES.slice(0, 3), 'Content-Length: 2\t']],
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
