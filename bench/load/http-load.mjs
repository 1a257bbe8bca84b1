/**
 * Asks a server over kept-alive connections, each with one request at a time, and prints what it saw as JSON:
 * node http-load.mjs '{"port":8080,"connections":64,"warmupMs":1000,"measureMs":5000,"merchants":["m1","m2"]}'
 * With "perSecond" it asks no more often than that, by connections in turn; otherwise as often as it is answered.
 * Written on plain sockets, so that it needs a fraction of the time of what it measures.
 */
import { connect } from 'node:net';
import { AnswerReader } from './answer-reader.mjs';
import { Latencies } from './latencies.mjs';

const { port, connections, warmupMs, measureMs, merchants, perSecond = Infinity } = JSON.parse(process.argv[2] ?? '');

/** @type {Buffer[]} */
const requests = merchants.map((/** @type {string} */ id) =>
  Buffer.from(
    `GET /transactions/tx-1 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-merchant-id: ${id}\r\naccept: application/json\r\nuser-agent: tollgate-bench\r\n\r\n`,
  ),
);

const latencies = new Latencies();
/** The same by whole seconds, so that one stray moment of the machine is seen as one. @type {Latencies[]} */
const bySecond = [];
let measuringSince = 0;
/** @type {Record<string, number>} */
const statuses = {};
let limited = 0;
let next = 0;
let measuring = false;
let over = false;

function openConnection() {
  let askedAt = 0;
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
        if (measuring) {
          const nowMs = performance.now();
          latencies.add(nowMs - askedAt);
          (bySecond[Math.trunc((nowMs - measuringSince) / 1000)] ??= new Latencies()).add(nowMs - askedAt);
          statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          if (answer.limited) limited++;
        }
        if (!over) askInTurn(ask);
        return true;
      },
    },
  });
  const ask = () => {
    next = next + 1 === requests.length ? 0 : next + 1;
    askedAt = performance.now();
    socket.write(/** @type {Buffer} */ (requests[next]));
  };
  socket.once('connect', () => askInTurn(ask));
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => over || fail('the server closed a connection'));
}

/** Connections that wait until the next request is due, at a steady rate. @type {(() => void)[]} */
const waiting = [];
let asked = 0;
const startedAt = performance.now();

/** @param {() => void} ask */
function askInTurn(ask) {
  if (perSecond === Infinity) ask();
  else waiting.push(ask);
}

if (perSecond !== Infinity) {
  setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    const count = over ? 0 : Math.min(waiting.length, Math.max(0, Math.floor(due) - asked));
    asked += count;
    for (const ask of waiting.splice(0, count)) ask();
    // What could not be asked in time is not made up for.
    asked = Math.max(asked, Math.floor(due) - connections);
  }, 1);
}

/** @param {string} reason */
function fail(reason) {
  console.error(reason);
  process.exit(1);
}

for (let i = 0; i < connections; i++) openConnection();

setTimeout(() => {
  measuring = true;
  const startedMs = performance.now();
  measuringSince = startedMs;
  const cpuBefore = process.cpuUsage();
  console.log('measuring');
  setTimeout(() => {
    measuring = false;
    over = true;
    const seconds = (performance.now() - startedMs) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const answers = latencies.count;
    console.log(
      JSON.stringify({
        perSecond: answers / seconds,
        answers,
        seconds,
        p50Ms: latencies.quantile(0.5),
        p99Ms: latencies.quantile(0.99),
        p99MsBySecond: bySecond.map((each) => each.quantile(0.99)),
        statuses,
        limitedShare: limited / answers,
        busy: (user + system) / 1e6 / seconds,
      }),
    );
    process.exit(0);
  }, measureMs);
}, warmupMs);
