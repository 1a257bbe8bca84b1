import { isKnownMethod, isUnknownMethod } from './methods.js';

it.each([
  ['GET', true],
  ['PATCH', true],
  ['PROPFIND', true],
  ['TRACE', false],
  ['CONNECT', false],
  ['BREW', false],
  ['get', false],
])('%s is forwarded: %s', (method, known) => {
  expect(isKnownMethod(method)).toBe(known);
});

it.each([
  ['BREW / HTTP/1.1\r\n', 1, true],
  ['get / HTTP/1.1\r\n', 0, true],
  ['GET / HTTP/1.1\r\nHost: x\r\n\r\nFLY /a HTTP/1.1\r\n', 28, true],
  ['FLY http://x/ HTTP/1.1\r\n', 2, true],
  ['GARBAGE!!\r\n\r\n', 1, false],
  ['GET / HTTP/1.1\r\nHost: x\r\n\r\n{"a": 1}', 27, false],
  ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 0, false],
  ['SSH-2.0-OpenSSH_9.2\r\n', 1, false],
  [`${'X'.repeat(40)} / HTTP/1.1\r\n`, 0, false],
])('%j, where the parser stopped at byte %i, looks like a request with an unknown method: %s', (packet, stoppedAt, looks) => {
  expect(isUnknownMethod(Buffer.from(packet, 'latin1'), stoppedAt)).toBe(looks);
});
