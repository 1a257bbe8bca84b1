/**
 * Asks a server over kept-alive connections, each with one request at a time, and prints what it saw as JSON:
 * node http-load.mjs FILE, with a file like {"port":8080,"connections":64,"warmupMs":1000,"measureMs":5000,"callers":["x-merchant-id: m1","x-merchant-id: m2"]}
 * `callers` are the headers by which requests are told apart, one each in turn; with "post" {"path":"/v1/check","bodies":[...]} they are POST of these bodies instead. With "perSecond" it asks no more often than that, by connections in turn; otherwise
 * as often as it is answered. With "ca" it speaks TLS.
 * Written on plain sockets, so that it needs a fraction of the time of what it measures.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AnswerReader } from './answer-reader.mjs';
import { fail, Measurement } from './measurement.mjs';
import { inTurn } from './pace.mjs';

const { port, connections, callers, post, perSecond, ca, ...times } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

/** @type {Buffer[]} */
const requests = post === undefined ? callers.map(get) : post.bodies.map(posted);

/** @param {string} caller */
function get(caller) {
  return Buffer.from(
    `GET /transactions/tx-1 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${caller}\r\naccept: application/json\r\nuser-agent: tollgate-bench\r\n\r\n`,
  );
}

/** @param {string} body */
function posted(body) {
  return Buffer.from(
    `POST ${post.path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const measurement = new Measurement();
const askInTurn = inTurn({ perSecond, isOver: () => measurement.over });
let next = 0;

function openConnection() {
  let askedAt = 0;
  const reader = new AnswerReader();
  /** @param {Buffer} buffer @param {number} length */
  const arrived = (buffer, length) => {
    const answer = reader.read(buffer, length);
    if (answer === undefined) return;
    measurement.answered(askedAt, answer.status, answer.limited);
    if (!measurement.over) askInTurn(ask);
  };
  const socket = ca === undefined ? plainSocket(arrived) : tlsSocket(arrived);
  const ask = (/** @type {number} */ sinceMs) => {
    next = next + 1 === requests.length ? 0 : next + 1;
    askedAt = sinceMs;
    socket.write(/** @type {Buffer} */ (requests[next]));
  };
  socket.once(ca === undefined ? 'connect' : 'secureConnect', () => askInTurn(ask));
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => measurement.over || fail('the server closed a connection'));
}

/** @param {(buffer: Buffer, length: number) => void} arrived */
function plainSocket(arrived) {
  return connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(16 * 1024),
      callback(length, buffer) {
        arrived(/** @type {Buffer} */ (buffer), length);
        return true;
      },
    },
  });
}

/** @param {(buffer: Buffer, length: number) => void} arrived */
function tlsSocket(arrived) {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca });
  socket.setNoDelay(true);
  return socket.on('data', (buffer) => arrived(buffer, buffer.length));
}

for (let i = 0; i < connections; i++) openConnection();
measurement.start(times);
