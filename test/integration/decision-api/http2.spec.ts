/** HTTP/2 of the gRPC door, frame by frame: what RFC 9113 asks for, and what clients that mean harm may send. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { startLimits } from '#limiter';
import { burst, ruleOf, runs } from '#limiter/testing';
import { type Field, HpackDecoder, HpackEncoder } from '../../../fuzz/http2/hpack.mjs';
import { HeaderDecoder } from '../../../apps/decision-api/src/http2/header-decoder.js';
import {
  Flag,
  frame,
  FrameType,
  headerBlock,
  PREFACE,
  readFrames,
  type ReceivedFrame,
  resetStream,
  settings,
  uint32,
} from '../../support/http2-frames.js';
import { clientOf, framed, sendBytes, serviceOf, unary } from '../../support/grpc-client.js';
import { until } from '../../support/until.js';
import { type Doors, MemoryEnforcer, openDoors, TOKEN } from './doors.js';

const CHECK = '/tollgate.v1.DecisionService/Check';
const decisions = serviceOf('tollgate/v1/decision.proto', 'tollgate.v1.DecisionService');
const HEADERS = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', CHECK],
  [':authority', 'x'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
  ['authorization', `Bearer ${TOKEN}`],
] as const;
const [PADDED, PRIORITY] = [0x8, 0x20];
const [OK, PROTOCOL, FLOW, CLOSED, SIZE, REFUSED, COMPRESSION, CALM] = [0, 1, 3, 5, 6, 7, 9, 11];
const INITIAL_WINDOW = 4;

const enforcer = new MemoryEnforcer();
let doors: Doors;
beforeAll(async () => {
  enforcer.rules.set('acme', [ruleOf('17', { limits: startLimits([burst({ capacity: 1_000_000 })], 0) })]);
  doors = await openDoors(enforcer);
});
afterEach(() => clients.splice(0).forEach(({ socket }) => socket.destroy()));
afterAll(async () => {
  await doors.doors.close(1_000);
  expect(doors.errors).toEqual([]);
});

const clients: FrameClient[] = [];

/** Writes frames as they are, and reads those that come. */
class FrameClient {
  readonly frames: ReceivedFrame[] = [];
  closed = false;
  private rest: Buffer = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    clients.push(this);
    socket.on('error', () => {}).on('close', () => (this.closed = true));
    socket.on('data', (chunk: Buffer) => {
      const { frames, rest } = readFrames(Buffer.concat([this.rest, chunk]));
      this.frames.push(...frames);
      this.rest = Buffer.from(rest);
    });
  }

  write(...frames: readonly Buffer[]): this {
    this.socket.write(Buffer.concat(frames));
    return this;
  }

  of(type: number, streamId: number): ReceivedFrame[] {
    return this.frames.filter((each) => each.type === type && each.streamId === streamId);
  }

  /** What ended the connection, or the stream. */
  code(streamId: number): number | undefined {
    if (streamId === 0) return this.of(FrameType.goaway, 0)[0]?.payload.readUInt32BE(4);
    return this.of(FrameType.resetStream, streamId)[0]?.payload.readUInt32BE(0);
  }

  /** Whether a call has ended, with the status of gRPC. */
  status(streamId: number): string | undefined {
    const last = this.of(FrameType.headers, streamId).find(({ flags }) => flags & Flag.endStream);
    return /grpc-status.(\d+)/s.exec(last?.payload.toString('latin1') ?? '')?.[1];
  }

  data(streamId: number): number {
    return this.of(FrameType.data, streamId).reduce((bytes, { payload }) => bytes + payload.length, 0);
  }
}

function open(port = doors.port, given = settings()): FrameClient {
  return new FrameClient(connectSocket({ port, host: '127.0.0.1', noDelay: true })).write(PREFACE, given);
}

const message = framed(decisions['Check']!.requestSerialize({ merchant: 'acme', cost: 1 }));
const head = (id: number, flags = 0, more: readonly (readonly [string, string])[] = []): Buffer =>
  frame(FrameType.headers, Flag.endHeaders | flags, id, headerBlock([...HEADERS, ...more]));
const body = (id: number, bytes = message, flags: number = Flag.endStream): Buffer => frame(FrameType.data, flags, id, bytes);
const call = (id: number): Buffer => Buffer.concat([head(id), body(id)]);
const window = (id: number, bytes: number): Buffer => frame(FrameType.windowUpdate, 0, id, uint32(bytes));
const without = (name: string) => headerBlock(HEADERS.filter(([each]) => each !== name));
const ping = frame(FrameType.ping, 0, 0, Buffer.alloc(8, 7));

describe('a call is answered', () => {
  const block = headerBlock(HEADERS);
  it.each<[string, Buffer]>([
    ['in two frames', call(1)],
    [
      'with padding',
      Buffer.concat([head(1), frame(FrameType.data, Flag.endStream | PADDED, 1, Buffer.concat([Buffer.of(9), message, Buffer.alloc(9)]))]),
    ],
    [
      'with a priority',
      Buffer.concat([frame(FrameType.headers, Flag.endHeaders | PRIORITY, 1, Buffer.concat([Buffer.alloc(5), block])), body(1)]),
    ],
    [
      'whose headers come in pieces',
      Buffer.concat([
        frame(FrameType.headers, 0, 1, block.subarray(0, 3)),
        frame(FrameType.continuation, 0, 1, Buffer.alloc(0)),
        frame(FrameType.continuation, Flag.endHeaders, 1, block.subarray(3)),
        body(1),
      ]),
    ],
    ['that ends with an empty frame', Buffer.concat([head(1), body(1, message, 0), body(1, Buffer.alloc(0))])],
    ['whose message comes in pieces', Buffer.concat([head(1), body(1, message.subarray(0, 2), 0), body(1, message.subarray(2))])],
    [
      'that ends with trailers',
      Buffer.concat([
        head(1),
        body(1, message, 0),
        frame(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, headerBlock([['x-a', '1']])),
      ]),
    ],
    ['with its length', Buffer.concat([head(1, 0, [['content-length', String(message.length)]]), body(1)])],
    [
      'behind frames that nobody knows',
      Buffer.concat([frame(0x42, 0xff, 7, Buffer.alloc(100)), frame(FrameType.priority, 0, 5, Buffer.alloc(5)), call(1)]),
    ],
  ])('%s', async (_, bytes) => {
    const client = open().write(bytes);
    await until(() => client.status(1) !== undefined);
    expect(client.status(1)).toBe('0');
    // The same byte by byte.
    const slow = open();
    for (const byte of bytes) slow.write(Buffer.of(byte));
    await until(() => slow.status(1) === '0');
  });

  it('also one of a stream that was opened behind another one which goes on', async () => {
    const client = open().write(head(1), call(3));
    await until(() => client.status(3) === '0');
    client.write(body(1));
    await until(() => client.status(1) === '0');
  });

  it('in as many pieces as the caller takes, and no others wait for it', async () => {
    const client = open(doors.port, settings([INITIAL_WINDOW, 10])).write(call(1), call(3));
    await until(() => client.data(3) === 10);
    expect(client.status(1)).toBeUndefined();
    client.write(window(3, 10_000));
    await until(() => client.status(3) === '0');
    expect([client.data(1), client.status(1)]).toEqual([10, undefined]);
    // The window of streams that are there grows, too.
    client.write(settings([INITIAL_WINDOW, 20]));
    await until(() => client.data(1) === 20);
    client.write(settings([INITIAL_WINDOW, 10_000]));
    await until(() => client.status(1) === '0');
    for (const id of [1, 3]) expect(client.data(id)).toBe(5 + client.of(FrameType.data, id)[0]!.payload.readUInt32BE(1));
  });

  it('once the connection takes more', async () => {
    const client = open();
    const count = 400;
    const answered = () => Array.from({ length: count }, (_, i) => client.status(2 * i + 1)).filter((each) => each === '0').length;
    // Not more at once than streams may be open.
    for (let i = 0; i < count; i++) {
      client.write(call(2 * i + 1));
      if (i === 200) await until(() => answered() > 200);
    }
    await until(() => client.frames.reduce((sum, { type, payload }) => sum + (type === FrameType.data ? payload.length : 0), 0) === 65_535);
    expect(answered()).toBeLessThan(count);
    client.write(window(0, 1_000_000));
    await until(() => answered() === count);
  });

  it('by a client with tables and Huffman codes, hundreds of times', async () => {
    const session = connect(`http://127.0.0.1:${doors.port}`);
    let ok = 0;
    const ask = async (i: number) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': CHECK,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${TOKEN}`,
        'x-request-id': `id-${i}`,
        'grpc-timeout': `${50_000 + i}m`,
      });
      stream.on('trailers', (trailers) => (ok += Number(trailers['grpc-status'] === '0')));
      stream.end(message);
      await once(stream.resume(), 'close');
    };
    for (let i = 0; i < 600; i += 100) await Promise.all(Array.from({ length: 100 }, (_, k) => ask(i + k)));
    expect(ok).toBe(600);
    session.destroy();
  });

  it('with a message that is packed, unless it is too large unpacked', async () => {
    const send = (bytes: Buffer) =>
      sendBytes(doors.port, CHECK, framed(gzipSync(bytes), { compressed: 1 }), {
        authorization: `Bearer ${TOKEN}`,
        'grpc-encoding': 'gzip',
      });
    expect(await send(message.subarray(5))).toMatchObject({ grpc: '0' });
    expect(await send(Buffer.alloc(10_000_000))).toMatchObject({ grpc: '8' });
  });
});

describe('the connection ends', () => {
  it.each<[string, number, Buffer]>([
    ['DATA of the connection', PROTOCOL, body(0)],
    ['DATA of a stream that was never opened', PROTOCOL, body(5)],
    ['HEADERS of the connection', PROTOCOL, head(0)],
    ['HEADERS with the number of a server', PROTOCOL, head(2)],
    ['HEADERS of a stream that is over', CLOSED, Buffer.concat([head(3), resetStream(3, 8), head(3)])],
    ['HEADERS of a stream with a smaller number', CLOSED, Buffer.concat([head(5), head(3)])],
    ['a priority on itself', PROTOCOL, frame(FrameType.priority, 0, 3, Buffer.concat([uint32(3), Buffer.of(1)]))],
    ['a priority of four bytes', SIZE, frame(FrameType.priority, 0, 3, Buffer.alloc(4))],
    ['a reset of three bytes', SIZE, Buffer.concat([head(1), frame(FrameType.resetStream, 0, 1, Buffer.alloc(3))])],
    ['a reset of a stream that was never opened', PROTOCOL, resetStream(9, 8)],
    ['a reset of the connection', PROTOCOL, resetStream(0, 8)],
    ['a PING of a stream', PROTOCOL, frame(FrameType.ping, 0, 1, Buffer.alloc(8))],
    ['a PING of seven bytes', SIZE, frame(FrameType.ping, 0, 0, Buffer.alloc(7))],
    ['SETTINGS of a stream', PROTOCOL, frame(FrameType.settings, 0, 1)],
    ['SETTINGS of five bytes', SIZE, frame(FrameType.settings, 0, 0, Buffer.alloc(5))],
    ['an acknowledgement with settings', SIZE, frame(FrameType.settings, Flag.ack, 0, Buffer.alloc(6))],
    ['a push that is neither on nor off', PROTOCOL, settings([2, 2])],
    ['a first window that is too large', FLOW, settings([INITIAL_WINDOW, 2 ** 31])],
    ['frames smaller than they may be', PROTOCOL, settings([5, 100])],
    ['more settings than anybody has', CALM, settings(...Array.from({ length: 33 }, () => [INITIAL_WINDOW, 1_000] as const))],
    ['a window of the connection that is too large', FLOW, window(0, 2 ** 31 - 1)],
    ['a window of the connection that grows by nothing', PROTOCOL, window(0, 0)],
    ['a WINDOW_UPDATE of three bytes', SIZE, frame(FrameType.windowUpdate, 0, 0, Buffer.alloc(3))],
    ['PUSH_PROMISE', PROTOCOL, frame(5, Flag.endHeaders, 1, Buffer.alloc(8))],
    ['CONTINUATION without a beginning', PROTOCOL, frame(FrameType.continuation, Flag.endHeaders, 1)],
    [
      'CONTINUATION of another stream',
      PROTOCOL,
      Buffer.concat([frame(FrameType.headers, 0, 1), frame(FrameType.continuation, Flag.endHeaders, 3)]),
    ],
    ['something between the pieces of headers', PROTOCOL, Buffer.concat([frame(FrameType.headers, 0, 1), ping])],
    ['a frame that is too large', SIZE, frame(FrameType.data, 0, 1, Buffer.alloc(16_385))],
    ['more padding than there is', PROTOCOL, Buffer.concat([head(1), frame(FrameType.data, PADDED, 1, Buffer.of(5, 0))])],
    ['headers that cannot be unpacked', COMPRESSION, frame(FrameType.headers, Flag.endHeaders, 1, Buffer.of(0x80))],
    [
      'headers in ever more pieces',
      CALM,
      Buffer.concat([frame(FrameType.headers, 0, 1), ...Array.from({ length: 40 }, () => frame(FrameType.continuation, 0, 1))]),
    ],
    [
      'headers without an end',
      CALM,
      Buffer.concat([
        frame(FrameType.headers, 0, 1),
        ...Array.from({ length: 17 }, () => frame(FrameType.continuation, 0, 1, Buffer.alloc(16_000))),
      ]),
    ],
    ['rapid resets', CALM, Buffer.concat(Array.from({ length: 2_000 }, (_, i) => [head(2 * i + 1), resetStream(2 * i + 1, 8)]).flat())],
    [
      'resets that it makes us send',
      CALM,
      Buffer.concat(Array.from({ length: 2_000 }, (_, i) => [head(2 * i + 1), window(2 * i + 1, 0)]).flat()),
    ],
  ])('by %s', async (_, code, bytes) => {
    const client = open().write(bytes);
    await until(() => client.closed);
    expect(client.code(0)).toBe(code);
  });

  it.each<[string, Buffer]>([
    ['a request of HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
    ['frames without settings', Buffer.concat([PREFACE, call(1)])],
    ['an acknowledgement of settings first', Buffer.concat([PREFACE, frame(FrameType.settings, Flag.ack, 0)])],
  ])('that begins with %s', async (_, bytes) => {
    const client = new FrameClient(connectSocket(doors.port, '127.0.0.1')).write(bytes);
    await until(() => client.closed);
    expect(client.code(0)).toBe(PROTOCOL);
  });

  it('that says nothing, after a while', async () => {
    const strict = await openDoors(enforcer, { silence: { askEveryMs: 60_000, answerWithinMs: 100, idleMs: 60_000 } });
    const client = new FrameClient(connectSocket(strict.port, '127.0.0.1')).write(PREFACE.subarray(0, 10));
    await until(() => client.closed);
    await strict.doors.close(1_000);
  });
});

describe('a stream ends alone', () => {
  it.each<[string, number, Buffer]>([
    ...[':method', ':scheme', ':path'].map((name): [string, number, Buffer] => [
      `without ${name}`,
      PROTOCOL,
      frame(FrameType.headers, Flag.endHeaders, 1, without(name)),
    ]),
    ...(
      [
        ['a name in capitals', ['X-Merchant', '1']],
        ['a connection', ['connection', 'close']],
        ['an encoding of HTTP/1.1', ['transfer-encoding', 'chunked']],
        ['TE that is not trailers', ['te', 'gzip']],
        ['a pseudo-header behind others', [':path', '/other']],
        ['a pseudo-header of answers', [':status', '200']],
        ['a line break', ['x-a', 'a\r\nb']],
        ['an empty name', ['', 'a']],
        ['a length that is no number', ['content-length', '-1']],
      ] as const
    ).map(([name, field]): [string, number, Buffer] => [`with ${name}`, PROTOCOL, head(1, 0, [field])]),
    ['with more bytes than announced', PROTOCOL, Buffer.concat([head(1, 0, [['content-length', '3']]), body(1)])],
    ['with fewer bytes than announced', PROTOCOL, Buffer.concat([head(1, 0, [['content-length', '300']]), body(1)])],
    ['with headers in the middle', PROTOCOL, Buffer.concat([head(1), head(1)])],
    ['with a window that grows by nothing', PROTOCOL, Buffer.concat([head(1), window(1, 0)])],
    ['with a window that is too large', FLOW, Buffer.concat([head(1), window(1, 2 ** 31 - 1)])],
  ])('%s', async (_, code, bytes) => {
    const client = open().write(bytes, call(101));
    await until(() => client.status(101) === '0');
    expect([client.code(1), client.code(0)]).toEqual([code, undefined]);
    expect(client.status(1)).toBeUndefined();
  });

  it.each<[string, Buffer]>([
    // One field of 4,000 bytes, which stands in the table then, and is named twenty times.
    [
      'that are small as bytes',
      Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 0x1e]), Buffer.alloc(4_000, 0x61), Buffer.alloc(20, 0xbe)]),
    ],
    // Ten fields of 10,000 bytes, in seven frames.
    [
      'in several frames',
      Buffer.concat(Array.from({ length: 10 }, () => [Buffer.from([0, 1, 0x61, 0x7f, 0x91, 0x4d]), Buffer.alloc(10_000, 0x61)]).flat()),
    ],
  ])('with more headers than are allowed, %s', async (_, more) => {
    const bytes = Buffer.concat([headerBlock(HEADERS), more]);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 16_000) }, (_, i) => bytes.subarray(16_000 * i, 16_000 * (i + 1)));
    const frames = pieces.map((piece, i) =>
      frame(i === 0 ? FrameType.headers : FrameType.continuation, i === pieces.length - 1 ? Flag.endHeaders : 0, 1, piece),
    );
    const client = open().write(...frames, call(101));
    await until(() => client.status(101) === '0');
    expect([client.status(1), client.code(0)]).toEqual(['8', undefined]);
  });

  it('of a caller that goes on behind its end', async () => {
    const late = new MemoryEnforcer();
    late.rules.set('acme', enforcer.rules.get('acme')!);
    late.check = () => {};
    const slow = await openDoors(late);
    const client = open(slow.port).write(call(1), body(1));
    await until(() => client.code(1) === CLOSED);
    await slow.doors.close(10);
  });

  it('that is one too many', async () => {
    const client = open();
    for (let i = 0; i < 257; i++) client.write(head(2 * i + 1));
    await until(() => client.code(513) === REFUSED);
    client.write(resetStream(1, 8), call(515));
    await until(() => client.status(515) === '0');
  });
});

it('a caller that reads no answers is not read from', async () => {
  const client = open();
  await until(() => client.frames.length > 0);
  client.socket.pause();
  const flood = Buffer.concat(Array.from({ length: 4_000 }, () => ping));
  let hasRoom = true;
  for (let i = 0; i < 1_000 && hasRoom; i++) {
    hasRoom = client.socket.write(flood) || client.socket.writableLength < 8_000_000;
    await new Promise(setImmediate);
  }
  // 68 MB of PING would have been read otherwise.
  expect(hasRoom).toBe(false);
  expect(await unary(clientOf(doors.port), decisions, 'Check', { merchant: 'acme' }, await tokenMetadata())).toMatchObject({
    allowed: true,
  });
});

async function tokenMetadata() {
  const { Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${TOKEN}`);
  return metadata;
}

it('what is kept of messages is bounded, for all connections together', async () => {
  const narrow = await openDoors(enforcer, { maxBufferedBytes: 20_000 });
  const [one, other] = [open(narrow.port), open(narrow.port)];
  const large = framed(Buffer.alloc(0), { length: 100_000 });
  one.write(head(1), body(1, Buffer.concat([large, Buffer.alloc(11_000)]), 0));
  await until(() => one.frames.length > 0);
  // What came before is kept once an answer comes behind it.
  one.write(call(3));
  await until(() => one.status(3) === '0');
  other.write(head(1), body(1, Buffer.concat([large, Buffer.alloc(11_000)]), 0));
  await until(() => other.status(1) === '14');
  one.write(resetStream(1, 8), call(5));
  await until(() => one.status(5) === '0');
  other.write(head(3), body(3, Buffer.concat([large, Buffer.alloc(11_000)]), 0), call(5));
  await until(() => other.status(5) === '0');
  expect(other.status(3)).toBeUndefined();
  await narrow.doors.close(10);
});

it('headers that come in pieces are counted with it, until their connection ends', async () => {
  const narrow = await openDoors(enforcer, { maxBufferedBytes: 20_000 });
  const [one, other] = [open(narrow.port), open(narrow.port)];
  const large = body(1, Buffer.concat([framed(Buffer.alloc(0), { length: 100_000 }), Buffer.alloc(11_000)]), 0);
  one.write(call(1), frame(FrameType.headers, 0, 3, Buffer.alloc(8_000)), frame(FrameType.continuation, 0, 3, Buffer.alloc(8_000)));
  await until(() => one.status(1) === '0');
  other.write(head(1), large);
  await until(() => other.status(1) === '14');
  one.socket.destroy();
  await until(async () => {
    const third = open(narrow.port).write(head(1), large, ping);
    await until(() => third.frames.some(({ type, flags }) => type === FrameType.ping && flags & Flag.ack));
    return third.status(1) === undefined;
  });
  await narrow.doors.close(10);
});

it('the end of the process: what is under way is answered, and what comes behind it is for others', async () => {
  const ending = await openDoors(enforcer);
  const client = open(ending.port).write(head(1));
  await until(() => client.frames.length > 0);
  client.write(call(3));
  await until(() => client.status(3) === '0');
  const closed = ending.doors.close(5_000);
  await until(() => client.code(0) === OK);
  client.write(call(5), body(1));
  await until(() => client.closed);
  expect([client.status(1), client.code(5)]).toEqual(['0', REFUSED]);
  await closed;
});

it('headers are read as by another reader, whatever a table does in between', () => {
  const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 40 });
  const field = fc.oneof(fc.tuple(text, text), fc.constantFrom<Field>([':path', '/'], ['te', 'trailers'], ['a', 'b']));
  const step = fc.record({
    fields: fc.array(fc.tuple(field, fc.constantFrom('indexed', 'named', 'literal', 'never'), fc.boolean()), { maxLength: 20 }),
    resize: fc.option(fc.integer({ min: 0, max: 4_096 })),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
      const [encoder, theirs, ours] = [new HpackEncoder(), new HpackDecoder(), new HeaderDecoder(1_000_000)];
      for (const { fields, resize } of steps) {
        const resized = resize === null ? [] : [encoder.resize(resize)];
        const block = Buffer.concat([
          ...resized,
          ...fields.map(([each, form, huffman]) => encoder.field(each as Field, form as never, huffman)),
        ]);
        expect(ours.decode(block)!.map(({ name, value }) => [name, value])).toEqual(theirs.decode(block));
      }
    }),
    runs(200),
  );
});

it('frames that are damaged in any way harm nobody but their connection', async () => {
  const good = [
    PREFACE,
    settings([INITIAL_WINDOW, 100]),
    head(1),
    body(1, message.subarray(0, 4), 0),
    body(1, message.subarray(4)),
    call(3),
    window(0, 1_000),
    window(1, 500),
    ping,
    resetStream(3, 8),
    call(5),
    settings([INITIAL_WINDOW, 0]),
    call(7),
  ];
  const damage = fc.record({
    at: fc.nat(),
    byte: fc.integer({ min: 0, max: 255 }),
    kind: fc.constantFrom('change', 'drop', 'insert', 'swap'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 4 }), async (damages) => {
      const frames = [...good];
      for (const { at, byte, kind } of damages) {
        const i = 1 + (at % (frames.length - 1));
        const bytes = Buffer.from(frames[i]!);
        const place = Math.floor(at / frames.length) % bytes.length;
        if (kind === 'swap') [frames[i], frames[1]] = [frames[1]!, frames[i]!];
        else if (kind === 'change') frames[i] = ((bytes[place] = byte), bytes);
        else if (kind === 'drop') frames[i] = Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]);
        else frames[i] = Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]);
      }
      const socket = connectSocket({ port: doors.port, host: '127.0.0.1' });
      socket.on('error', () => {}).resume();
      socket.end(Buffer.concat(frames));
      await once(socket, 'close');
    }),
    runs(100),
  );
  const client = open().write(call(1));
  await until(() => client.status(1) === '0');
});
