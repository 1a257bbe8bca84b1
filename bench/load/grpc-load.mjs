/**
 * Calls a unary method of gRPC over a few connections, with some calls at a time on each, and prints what it saw as JSON:
 * node grpc-load.mjs FILE, with a file like {"port":8091,"connections":8,"streams":8,"warmupMs":1000,"measureMs":5000,"grpc":{"path":"/tollgate.v1.DecisionService/Check","messages":["CgRhY21l"]}}
 * `messages` are in base64 and sent in turn. With "perSecond" it asks no more often than that. Answers count as `limited` that show a header of limits.
 * It writes and reads frames of HTTP/2 itself, on plain sockets, so that it needs a fraction of the time of what it measures: a client of gRPC needs as much as a server.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fail, Measurement } from './measurement.mjs';
import { inTurn } from './pace.mjs';

const { port, connections, streams, grpc, perSecond, ...times } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const [END_STREAM, ACK, END_HEADERS] = [1, 1, 4];
const FRAME_HEAD = 9;
const LARGEST_WINDOW = 2 ** 31 - 1;
const FIRST_WINDOW = 65_535;

/** @param {number} type @param {number} flags @param {number} stream @param {Buffer} payload */
function frame(type, flags, stream, payload) {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Without a table and without Huffman codes: RFC 7541, 6.2.2. @param {string} text */
const literal = (text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
const head = Buffer.concat(
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': grpc.path,
    ':authority': `127.0.0.1:${port}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': 'tollgate-bench',
  }).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]),
);

/** Each with its place for the number of the stream: in the head of the first frame, and of the second. @type {Buffer[]} */
const requests = grpc.messages.map((/** @type {string} */ text) => {
  const message = Buffer.from(text, 'base64');
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame(HEADERS, END_HEADERS, 0, head), frame(DATA, END_STREAM, 0, Buffer.concat([prefix, message]))]);
});
const SECOND_FRAME = FRAME_HEAD + head.length;

/** No table for what the server writes, and room for all answers. */
const settings = Buffer.alloc(18);
[
  [1, 0],
  [2, 0],
  [4, LARGEST_WINDOW],
].forEach(([name = 0, value = 0], i) => {
  settings.writeUInt16BE(name, 6 * i);
  settings.writeUInt32BE(value, 6 * i + 2);
});
const window = Buffer.alloc(4);
window.writeUInt32BE(LARGEST_WINDOW - FIRST_WINDOW);
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(SETTINGS, 0, 0, settings),
  frame(WINDOW_UPDATE, 0, 0, window),
]);

const measurement = new Measurement();
const askInTurn = inTurn({ perSecond, isOver: () => measurement.over });
let next = 0;

/** @typedef {{ askedAt: number, status: string, limited: boolean }} Call */

function openConnection() {
  /** @type {Map<number, Call>} */
  const calls = new Map();
  let lastStream = -1;
  let rest = Buffer.alloc(0);
  /** Those of one turn are written at once, as clients do. @type {Buffer[]} */
  let unwritten = [];
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });

  const ask = (/** @type {number} */ askedAt) => {
    next = next + 1 === requests.length ? 0 : next + 1;
    const request = Buffer.from(/** @type {Buffer} */ (requests[next]));
    lastStream += 2;
    request.writeUInt32BE(lastStream, 5);
    request.writeUInt32BE(lastStream, SECOND_FRAME + 5);
    calls.set(lastStream, { askedAt, status: 'no message', limited: false });
    if (unwritten.length === 0) setImmediate(write);
    unwritten.push(request);
  };
  const write = () => {
    socket.write(Buffer.concat(unwritten));
    unwritten = [];
  };

  /** @param {number} type @param {number} flags @param {number} stream @param {Buffer} payload */
  const arrived = (type, flags, stream, payload) => {
    if (type === SETTINGS && !(flags & ACK)) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && !(flags & ACK)) socket.write(frame(PING, ACK, 0, payload));
    else if (type === GOAWAY || type === RST_STREAM) fail(`the server ended a ${type === GOAWAY ? 'connection' : 'call'}`);
    const call = calls.get(stream);
    if (call === undefined) return;
    if (type === DATA && payload.length > 0) {
      call.status = '0';
      call.limited = payload.includes('RateLimit');
    }
    if (type !== HEADERS || !(flags & END_STREAM)) return;
    calls.delete(stream);
    measurement.answered(call.askedAt, call.status, call.limited);
    if (!measurement.over) askInTurn(ask);
  };

  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + rest.readUIntBE(at, 3);
      if (end > rest.length) break;
      arrived(rest.readUInt8(at + 3), rest.readUInt8(at + 4), rest.readUInt32BE(at + 5), rest.subarray(at + FRAME_HEAD, end));
      at = end;
    }
    rest = rest.subarray(at);
  });
  socket.once('connect', () => {
    socket.write(PREFACE);
    for (let stream = 0; stream < streams; stream++) askInTurn(ask);
  });
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => measurement.over || fail('the server closed a connection'));
}

for (let i = 0; i < connections; i++) openConnection();
measurement.start(times);
