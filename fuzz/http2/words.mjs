/** The words of which cases of HTTP/2 are made: those that it shares with HTTP/1.1 are there. */
import { ODD as ODD_LINES, PLAIN as PLAIN_LINES } from '../http1/words.mjs';
import { Setting } from './frames.mjs';

/** @typedef {import('./hpack.mjs').Field} Field */

/** @param {string} line @returns {Field} */
function fieldOf(line) {
  const colon = line.indexOf(':', 1);
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** @param {Field} field @returns {Field} */
const inLowerCase = ([name, value]) => [name.toLowerCase(), value];

/** What is forwarded as it is. */
export const PLAIN = PLAIN_LINES.map(fieldOf).map(inLowerCase);
/** @type {readonly Field[]} */
export const ODD = [
  ...ODD_LINES.map(fieldOf).map(inLowerCase),
  ...ODD_LINES.map(fieldOf),
  ['te', 'trailers'],
  ['te', 'Trailers'],
  ['te', 'trailers, deflate'],
  ['te', ''],
  ['cookie', 'c=d'],
  ['cookie', ''],
  ['cookie', 'a=b\r\nx-merchant-id: other'],
  ['x-a', 'b\r\nx-merchant-id: other'],
  ['x-a', 'b\nx-merchant-id: other'],
  ['x-a', 'b\rc'],
  ['x-a', ' b'],
  ['x-a', 'b\t'],
  ['x-a', '\0'],
  ['x-a: b\r\nx-merchant-id', 'other'],
  ['x-a\r\nx-b', 'c'],
  ['x-a:', 'b'],
  ['x a', 'b'],
  ['', 'b'],
  ['\xe4', 'b'],
  ['host', 'x'],
  ['host', 'y'],
  ['host', ''],
  ['host', 'x\r\nx-merchant-id: other'],
  ['transfer-encoding', 'chunked'],
  ['content-length', '3'],
  ['content-length', '18446744073709551618'],
  ['content-length', '3, 3'],
  ['connection', 'x-request-id'],
  ['upgrade', 'h2c'],
  ['trailer', 'x-trailer'],
  ['x-merchant-id', 'acme'],
  ['x-merchant-id', 'a\xffb'],
  [':protocol', 'websocket'],
  [':status', '200'],
  [':path', '/smuggled'],
  [':method', 'GET'],
  [':authority', 'y'],
  [':scheme', 'http'],
  [':', ''],
  [':x', 'y'],
  ['x-huge', 'v'.repeat(20_000)],
];
export const TRAILERS = /** @type {readonly Field[]} */ ([
  ['x-trailer', 'x'],
  ['grpc-status', '0'],
]);
export const ODD_TRAILERS = /** @type {readonly Field[]} */ ([
  ['content-length', '5'],
  ['transfer-encoding', 'chunked'],
  ['host', 'y'],
  ['x-merchant-id', 'other'],
  ['x_merchant_id', 'other'],
  ['x-request-id', 'r-3'],
  ['x-forwarded-for', '10.0.0.1'],
  ['authorization', 'Basic YTpi'],
  ['connection', 'close'],
  [':path', '/smuggled'],
  ['X-Upper', 'x'],
  ['x-trailer', 'a\r\n\r\nGET /smuggled HTTP/1.1'],
  ['te', 'trailers'],
  ['trailer', 'x'],
]);

export const SCHEMES = ['http', 'HTTPS', 'ftp', '', 'https:', 'ws', 'https\r\n'];
export const AUTHORITIES = ['y', '', 'x:443', 'a@x', 'x/y', 'x y', 'X', 'x,y', '[::1]', 'x\r\nx-a: b', 'x:', '\xe4', '*'];
export const TARGETS = ['/large', '/late', '/large?a'];
export const ODD_TARGETS = ['/a\r\nx-merchant-id: other', '/a HTTP/1.1\r\nx-b: c', '/\r\n\r\nGET /smuggled HTTP/1.1', 'https://x/', '/a\0'];
export const ODD_METHODS = ['GET / HTTP/1.1\r\nX', 'GET\r\n', 'CONNECT', 'GE T', 'options', 'P\xd6ST', 'A'.repeat(300)];

/** What a client may say of itself, and what it may not. @type {readonly (readonly [id: number, value: number])[]} */
export const SETTINGS = [
  [Setting.headerTableSize, 0],
  [Setting.headerTableSize, 100],
  [Setting.headerTableSize, 65_536],
  [Setting.enablePush, 0],
  [Setting.enablePush, 1],
  [Setting.maxConcurrentStreams, 0],
  [Setting.initialWindowSize, 0],
  [Setting.initialWindowSize, 1],
  [Setting.initialWindowSize, 1_000],
  [Setting.initialWindowSize, 1_000_000],
  [Setting.maxFrameSize, 16_384],
  [Setting.maxFrameSize, 16_777_215],
  [Setting.maxHeaderListSize, 1_000],
  [99, 1],
];
/** @type {readonly (readonly [id: number, value: number])[]} */
export const ODD_SETTINGS = [
  [Setting.enablePush, 2],
  [Setting.initialWindowSize, 2 ** 31],
  [Setting.initialWindowSize, 2 ** 31 - 1],
  [Setting.maxFrameSize, 0],
  [Setting.maxFrameSize, 16_383],
  [Setting.maxFrameSize, 2 ** 24],
  [Setting.maxHeaderListSize, 0],
  [0, 2 ** 32 - 1],
  [8, 1],
  [8, 2],
];

/** What may stand in a block of headers where no header is. */
export const ODD_HPACK = [
  [0x80],
  [0xff, 0x80, 0x01],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0xbe],
  [0xc5],
  [0x20],
  [0x3f, 0xe1, 0x1f],
  [0x3f, 0xe2, 0x1f],
  [0x3f, 0xff, 0xff, 0x7f],
  [0x21, 0x20],
  [0x00],
  [0x00, 0x05, 0x61],
  [0x40, 0x81, 0xff, 0x81, 0xff],
  [0x00, 0x81, 0x00, 0x00],
  [0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00],
  [0x7e, 0x00],
  [0x0f, 0xff, 0xff, 0xff, 0x7f, 0x00],
  [0x00, 0x01, 0x78, 0x7f, 0xff, 0xff, 0xff, 0x0f],
];
