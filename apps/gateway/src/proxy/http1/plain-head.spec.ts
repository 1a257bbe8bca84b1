import { plainHead } from './plain-head.js';

const LINES = ['POST /a?b=c HTTP/1.1', 'Host: x', 'Content-Length: 2'];
const head = (...lines: string[]) => plainHead(Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`, 'latin1'));
const line = (text: string) => head(text, ...LINES.slice(1));

test('a plain head is read, and what is behind it is not', () => {
  expect(head(...LINES, 'X-A: b')).toEqual({
    method: 'POST',
    target: '/a?b=c',
    rawHeaders: ['Host', 'x', 'Content-Length', '2', 'X-A', 'b'],
    bodyLength: 2,
    length: LINES.join('\r\n').length + '\r\nX-A: b\r\n\r\n'.length,
  });
});

test.each([
  ['no length', LINES.slice(0, 2), 0],
  ['a length of zero', [...LINES.slice(0, 2), 'content-length: 0'], 0],
  ['a large length', [...LINES.slice(0, 2), 'Content-Length: 123456789012345'], 123456789012345],
])('a request with %s', (_what, lines, bodyLength) => expect(head(...lines)?.bodyLength).toBe(bodyLength));

test('what the headers say of the sender, and how often, is looked at elsewhere', () => {
  expect(head(...LINES, 'Host: y', 'X-Merchant-Id: a', 'x-merchant-id: b')?.rawHeaders).toHaveLength(10);
});

test.each([
  ['two lengths', [...LINES, 'content-length: 2']],
  ['a length with a sign', [...LINES.slice(0, 2), 'Content-Length: +2']],
  ['a length with a zero in front', [...LINES.slice(0, 2), 'Content-Length: 02']],
  ['a length in hexadecimal', [...LINES.slice(0, 2), 'Content-Length: 0x2']],
  ['a list of lengths', [...LINES.slice(0, 2), 'Content-Length: 2, 2']],
  ['an empty length', [...LINES.slice(0, 2), 'Content-Length:']],
  ['a length of very many digits', [...LINES.slice(0, 2), 'Content-Length: 1234567890123456']],
  ['chunks', [...LINES.slice(0, 2), 'Transfer-Encoding: chunked']],
  ['very much', [...LINES, `A: ${'x'.repeat(9_000)}`]],
  ['a line in front', ['', ...LINES]],
])('a head with %s is left to node', (_what, lines) => expect(head(...lines)).toBeUndefined());

test.each([
  'TRACE / HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'get / HTTP/1.1',
  'GET * HTTP/1.1',
  'GET http://x/ HTTP/1.1',
  'GET / HTTP/1.0',
  'GET / HTTP/1.11',
  'GET / HTTP/1.1 ',
  'GET  / HTTP/1.1',
  'GET /a#b HTTP/1.1',
  'GET /"a" HTTP/1.1',
  'GET /a\\b HTTP/1.1',
  'GET /\xe9 HTTP/1.1',
  'GET /a b HTTP/1.1',
])('the request line %j is left to node', (text) => expect(line(text)).toBeUndefined());

test('a head that is not whole is left to node', () => {
  expect(plainHead(Buffer.from(LINES.join('\r\n')))).toBeUndefined();
  expect(plainHead(Buffer.alloc(0))).toBeUndefined();
});
