import type { ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { Answers } from '../../../fuzz/http2/answers.mjs';
import { Http2FuzzBed, type Seen } from '../../../fuzz/http2/bed.mjs';
import { Flag, frame, FrameType, PREFACE, settings, uint32 } from '../../../fuzz/http2/frames.mjs';
import { type Field, HpackDecoder, HpackEncoder } from '../../../fuzz/http2/hpack.mjs';
import { huffmanDecoded, huffmanEncoded } from '../../../fuzz/http2/huffman.mjs';
import { faultsOf } from '../../../fuzz/http2/judge.mjs';
import { readSent } from '../../../fuzz/http2/readings.mjs';
import { describeFrames, http2Subject } from '../../../fuzz/http2/subject.mjs';
import { describeFailure, fuzz } from '../../../fuzz/shared/fuzz.mjs';
import { stopAll } from './proxy-harness.js';
import { SERVER, startTlsProxy } from './tls-harness.js';

afterEach(stopAll);

/** More, and others, by hand: npm run fuzz -- --http2 --cases 100000 --seed 7 */
const CASES = 200;
const SEED = 1;

test('what reaches the upstream was sent, was decided about, and can be read in one way, whatever frames a client writes', async () => {
  const startTrusting = async (upstream: URL, admit: ProxyOptions['admit'], trusted: boolean) => {
    const { port, metrics, server } = await startTlsProxy(upstream, {}, { admit, trusts: () => trusted });
    return { port, inFlight: () => metrics.inFlight, close: () => server.close(0) };
  };
  const bed = new Http2FuzzBed(startTrusting, { ca: SERVER.cert });
  try {
    const { failures, seen } = await fuzz([http2Subject(bed)], { seed: SEED, cases: CASES });
    expect(failures.map((each) => describeFailure(each, describeFrames))).toEqual([]);
    // Neither all of it was refused at once, nor all of it harmless.
    expect(Math.min(seen.asked, seen.reached, seen.refused)).toBeGreaterThan(CASES / 10);
  } finally {
    await bed.close();
  }
});

const block = (fields: readonly Field[]): Buffer => {
  const encoder = new HpackEncoder();
  return Buffer.concat(fields.map((field) => encoder.field(field, 'indexed', true)));
};
const headers = (streamId: number, fields: readonly Field[], flags: number = Flag.endHeaders): Buffer =>
  frame(FrameType.headers, flags, streamId, block(fields));
const data = (streamId: number, text: string, flags: number = Flag.endStream): Buffer =>
  frame(FrameType.data, flags, streamId, Buffer.from(text, 'latin1'));
const POST: readonly Field[] = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/a'],
  [':authority', 'x'],
];
const sentBy = (...frames: readonly Buffer[]) => readSent(Buffer.concat([PREFACE, settings([]), ...frames]).toString('latin1'));

function answers(...frames: readonly Buffer[]): Answers {
  const read = new Answers();
  read.take(Buffer.concat([settings([]), ...frames]));
  return read;
}

const OK: readonly Field[] = [
  [':status', '200'],
  ['content-length', '2'],
];

describe('the judge', () => {
  const HEADERS = 'Host: x\r\nX-A: b\r\nX-Forwarded-For: 127.0.0.1\r\nX-Request-Id: r\r\n';
  const HONEST = 'GET /honest/1 HTTP/1.1\r\nHost: x\r\nx-honest: yes\r\nX-Forwarded-For: 127.0.0.1\r\nX-Request-Id: h\r\n\r\n';
  const ARRIVED = `POST /a HTTP/1.1\r\n${HEADERS}Content-Length: 2\r\n\r\nhi`;
  const asked = [
    { method: 'GET', target: '/honest/1', requestId: 'h', hostName: 'x', merchantId: '' },
    { method: 'POST', target: '/a', requestId: 'r', hostName: 'x', merchantId: '' },
  ];
  const meant = sentBy(headers(1, [...POST, ['x-a', 'b'], ['content-length', '2']]), data(1, 'hi'));
  const well: Seen = {
    meant,
    trusted: true,
    admission: 'forward',
    asked,
    reached: [HONEST, ARRIVED],
    answers: answers(headers(1, OK), data(1, 'ok')),
    isCut: false,
    hangs: false,
    honest: { target: '/honest/1', problem: '' },
    inFlight: 0,
  };
  const arriving = (text: string) => ({ reached: [HONEST, text] });

  it('has nothing to say of what is well', () => expect(faultsOf(well)).toEqual([]));

  it.each<[string, Partial<Seen>]>([
    ['nobody decided about', { asked: asked.slice(0, 1) }],
    ['was decided about, and not sent', { meant: sentBy(headers(1, [...POST.slice(0, 2), [':path', '/b'], [':authority', 'x']])) }],
    ['is malformed: the header', { meant: sentBy(headers(1, [...POST, ['x-a', 'b'], ['upgrade', 'h2c']]), data(1, 'hi')) }],
    ['is malformed: its body', { meant: sentBy(headers(1, [...POST, ['x-a', 'b'], ['content-length', '3']]), data(1, 'hi')) }],
    ['and was not sent', { meant: sentBy(headers(1, [...POST, ['x-a', 'b']]), data(1, 'hi!')) }],
    ['and was not sent', { meant: sentBy(headers(1, [...POST, ['x-a', 'b']]), data(1, 'hi', 0)) }],
    ['and was not sent', { ...arriving(ARRIVED + ARRIVED), asked: [...asked, asked[1]!] }],
    ['["x-a","c"] was not sent', arriving(ARRIVED.replace('X-A: b', 'x-a: c'))],
    ['["x-a","b"] was lost', arriving(ARRIVED.replace('X-A: b\r\n', ''))],
    ['another host', { meant: sentBy(headers(1, [...POST.slice(0, 3), [':authority', 'y'], ['x-a', 'b']]), data(1, 'hi')) }],
    ['forwarded as a trailer', arriving(chunked('X-Merchant-Id: other\r\n'))],
    ['not trusted', { trusted: false, ...arriving(ARRIVED.replace('X-A', 'X-User-Id')) }],
    ['what is not HTTP/1.1', arriving(ARRIVED.replace('Content-Length: 2', 'Content-Length: 2\r\nContent-Length: 2'))],
    ['0 honest requests', { reached: [ARRIVED] }],
    ['2 honest requests', { reached: [HONEST + HONEST, ARRIVED], asked: [asked[0]!, ...asked] }],
    ['an honest request was changed', { reached: [HONEST.replace('x-honest: yes', 'x-honest: no'), ARRIVED] }],
    ['the honest client', { honest: { target: '/honest/1', problem: 'no answer in time' } }],
    ['an answer was 502', { answers: answers(headers(1, [[':status', '502']]), data(1, '')) }],
    ['and only 0 have its answer', { answers: answers() }],
    ['and 1 have its answer', { reached: [HONEST] }],
    ['not that of the upstream', { answers: answers(headers(1, OK), data(1, 'no')) }],
    ['on which nothing was asked', { answers: answers(headers(3, OK), data(3, 'ok')) }],
    ['outside of the answer', { answers: answers(data(1, 'ok')) }],
    ['two answers', { answers: answers(headers(1, OK), headers(1, OK), data(1, 'ok')) }],
    ['a refused request', { admission: 'refuse' }],
    ['no answer', { hangs: true }],
    ['still in flight', { inFlight: 1 }],
  ])('finds what is wrong: %s', (said, change) => {
    expect(faultsOf({ ...well, ...change }).join('\n')).toContain(said);
  });

  function chunked(trailer: string): string {
    return `POST /a HTTP/1.1\r\n${HEADERS}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n${trailer}\r\n`;
  }
});

describe('the reader of frames', () => {
  it.each<[string, Buffer[], object]>([
    ['a body in pieces', [headers(1, POST), data(1, 'h', 0), data(1, 'i')], { body: 'hi', isWhole: true, fault: '', faultOfEnd: '' }],
    ['one that is not whole', [headers(1, POST), data(1, 'h', 0)], { body: 'h', isWhole: false }],
    ['padding', [headers(1, POST), frame(FrameType.data, 0x9, 1, Buffer.from('\x02hi\0\0'))], { body: 'hi', isWhole: true }],
    ['trailers', [headers(1, POST), headers(1, [['x-t', 'x']], 0x5)], { trailers: [['x-t', 'x']], isWhole: true, faultOfEnd: '' }],
    ['trailers that end nothing', [headers(1, POST), headers(1, [['x-t', 'x']])], { faultOfEnd: 'headers in its body' }],
    ['a reset', [headers(1, POST), frame(FrameType.resetStream, 0, 1, uint32(8)), data(1, 'x')], { wasReset: true, body: '' }],
    ['a block in parts', [headers(1, POST, 0), frame(FrameType.continuation, Flag.endHeaders, 1, block([['x', 'y']]))], { fault: '' }],
    ['two paths', [headers(1, [...POST, [':path', '/b']])], { fault: expect.stringContaining(':path') as string }],
    [
      'a late one',
      [headers(1, [...POST.slice(1), ['x', 'y'], [':method', 'GET']])],
      { fault: expect.stringContaining('behind') as string },
    ],
    ['upper case', [headers(1, [...POST, ['X', 'y']])], { fault: expect.stringContaining('header') as string }],
    ['a line break, which nghttp2 leaves out', [headers(1, [...POST, ['x', 'y\r\nz'], ['a', 'b']])], { fault: '', headers: [['a', 'b']] }],
  ])('understands %s', (_what, frames, request) => {
    expect(sentBy(...frames).requests).toMatchObject([request]);
  });

  it('says how many bytes the last frame is short of', () => {
    const bytes = Buffer.concat([PREFACE, data(1, 'hello').subarray(0, 11)]);
    expect(readSent(bytes.toString('latin1'))).toMatchObject({ missing: 3, requests: [] });
  });

  it('reads what HPACK has remembered, and every byte in its Huffman code', () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder();
    const bytes = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));
    const field: Field = ['x-bytes', bytes];
    const [first, second] = [encoder.field(field, 'indexed', true), encoder.field(field, 'indexed', true)];
    expect(second).toHaveLength(1);
    expect([...decoder.decode(first), ...decoder.decode(second)]).toEqual([field, field]);
    expect(huffmanDecoded(huffmanEncoded(bytes))).toBe(bytes);
    // RFC 7541, C.4.1.
    expect(huffmanEncoded('www.example.com').toString('hex')).toBe('f1e3c2e5f23a6ba0ab90f4ff');
  });
});
