/**
 * Asks a server at a steady rate, whatever it answers, and prints what it saw as JSON:
 * node paced-load.mjs '{"port":8080,"connections":16,"everyMs":10,"warmupMs":1000,"measureMs":5000,"merchants":["m1","m2"]}'
 * A request that is due while the one before it has no answer waits, and its waiting counts: a server that stops for a
 * while is not asked less meanwhile.
 */
import { connect } from 'node:net';
import { AnswerReader } from './answer-reader.mjs';
import { Latencies } from './latencies.mjs';

const { port, connections, everyMs, warmupMs, measureMs, merchants } = JSON.parse(process.argv[2] ?? '');

/** @type {Buffer[]} */
const requests = merchants.map((/** @type {string} */ id) =>
  Buffer.from(`GET /transactions/tx-1 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-merchant-id: ${id}\r\n\r\n`),
);

const latencies = new Latencies();
/** @type {Record<string, number>} */
const statuses = {};
let longestMs = 0;
let next = 0;
const startedMs = performance.now();
const measuresFrom = startedMs + warmupMs;
const measuresUntil = measuresFrom + measureMs;

/** @param {number} firstMs */
function openConnection(firstMs) {
  let dueMs = firstMs;
  const reader = new AnswerReader();
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(16 * 1024),
      callback(length, buffer) {
        const answer = reader.read(/** @type {Buffer} */ (buffer), length);
        if (answer === undefined) return true;
        const nowMs = performance.now();
        if (dueMs >= measuresFrom && dueMs < measuresUntil) {
          latencies.add(nowMs - dueMs);
          longestMs = Math.max(longestMs, nowMs - dueMs);
          statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        }
        dueMs += everyMs;
        if (dueMs <= nowMs) ask();
        else setTimeout(ask, dueMs - nowMs);
        return true;
      },
    },
  });
  const ask = () => {
    // A timer may be late; how late is no fault of the server.
    if (performance.now() - dueMs < everyMs) dueMs = performance.now();
    next = next + 1 === requests.length ? 0 : next + 1;
    socket.write(/** @type {Buffer} */ (requests[next]));
  };
  socket.once('connect', () => setTimeout(ask, dueMs - performance.now()));
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => fail('the server closed a connection'));
}

/** @param {string} reason */
function fail(reason) {
  console.error(reason);
  process.exit(1);
}

for (let i = 0; i < connections; i++) openConnection(startedMs + 100 + (i * everyMs) / connections);

setTimeout(
  () => {
    const answers = latencies.count;
    console.log(
      JSON.stringify({
        perSecond: answers / (measureMs / 1000),
        answers,
        p50Ms: latencies.quantile(0.5),
        p99Ms: latencies.quantile(0.99),
        longestMs,
        statuses,
      }),
    );
    process.exit(0);
  },
  warmupMs + measureMs + 200,
);
