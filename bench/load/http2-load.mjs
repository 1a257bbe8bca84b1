/**
 * Asks a server by HTTP/2 over TLS, with some streams at a time on each of a few connections, as clients of HTTP/2 do, and prints what it saw as JSON:
 * node http2-load.mjs FILE, with a file like {"port":8443,"connections":8,"streams":8,"warmupMs":1000,"measureMs":5000,"callers":["x-merchant-id: m1"],"ca":"-----BEGIN ..."}
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { fail, Measurement } from './measurement.mjs';

const { port, connections, streams, callers, ca, ...times } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

/** @type {import('node:http2').OutgoingHttpHeaders[]} */
const requests = callers.map((/** @type {string} */ caller) => ({
  ':path': '/transactions/tx-1',
  ...Object.fromEntries(caller.split('\r\n').map((line) => line.split(': '))),
  accept: 'application/json',
  'user-agent': 'tollgate-bench',
}));

const measurement = new Measurement();
let next = 0;

/** @param {import('node:http2').ClientHttp2Session} session */
function ask(session) {
  next = next + 1 === requests.length ? 0 : next + 1;
  const askedAt = performance.now();
  const stream = session.request(requests[next]);
  let status = '';
  let limited = false;
  stream.on('response', (headers) => {
    status = String(headers[':status']);
    limited = headers['ratelimit'] !== undefined;
  });
  stream.on('error', (error) => fail(error.message));
  stream.resume().on('end', () => {
    measurement.answered(askedAt, status, limited);
    if (!measurement.over) ask(session);
  });
}

for (let i = 0; i < connections; i++) {
  const session = connect(`https://localhost:${port}`, {
    createConnection: () => connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'] }),
  });
  session.on('error', (error) => fail(error.message));
  session.on('close', () => measurement.over || fail('the server closed a connection'));
  session.once('connect', () => {
    for (let stream = 0; stream < streams; stream++) ask(session);
  });
}
measurement.start(times);
