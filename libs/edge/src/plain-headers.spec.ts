import { plainHeaders } from './plain-headers.js';

const read = (...lines: string[]) => plainHeaders(['GET / HTTP/1.1', ...lines].join('\r\n'), 14);

test('names and values come as they stand, without the space before values', () => {
  expect(read('Host: x', 'A:\t b c', 'a:', 'X-Empty:   ', '__proto__: y')).toEqual([
    ...['Host', 'x', 'A', 'b c', 'a', '', 'X-Empty', '', '__proto__', 'y'],
  ]);
});

test.each(['keep-alive', 'Keep-Alive'])('Connection: %s says nothing new', (value) => expect(read(`Connection: ${value}`)).toHaveLength(2));

test.each([
  ['a connection that closes', ['Connection: close']],
  ['a connection that names headers', ['Connection: keep-alive, host']],
  ['an empty connection', ['Connection:']],
  ['another protocol', ['Upgrade: h2c']],
  ['chunks', ['Transfer-Encoding: chunked']],
  ['a question before the body', ['Expect: 100-continue']],
  ['trailers to come', ['Trailer: x']],
  ['a name with a space', ['Host : x']],
  ['no name', [': x']],
  ['no colon', ['Host']],
  ['a folded line', ['A: b', ' c']],
  ['a bare line feed', ['A: b\nC: d']],
  ['a bare carriage return', ['A: b\rC: d']],
  ['a space behind a value', ['A: b ']],
  ['a tab behind a length', ['Content-Length: 2\t']],
  ['a zero', ['A: b\0']],
  ['a vertical tab at the end of a value', ['A: b\x0b']],
  ['a byte beyond ASCII', ['A: \xe9']],
  ['an empty line', ['', 'A: b']],
])('a head with %s is for somebody else to judge', (_what, lines) => expect(read(...lines)).toBeUndefined());
