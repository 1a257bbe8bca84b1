/**
 * Asks a gateway for ids that nobody created, each once, at a steady rate and then, told by SIGUSR1, as fast as it is answered, until all were
 * answered or it is told to stop (SIGTERM); and prints what it saw. With `merchant` it asks for that one, each time from another address. With `merchants` it asks
 * for those in turn instead, and from SIGUSR2 on for those and for the flood by turns of `turnMs`; with `prefix` the ids begin with it. Only the flood is counted:
 * node unknown-load.mjs '{"port":8080,"ids":1000000,"perSecond":4000,"connections":32,"first":0}'
 */
import { connect } from 'node:net';
import { AnswerReader } from './answer-reader.mjs';

const { port, ids, perSecond, connections, first = 0, merchant, merchants, turnMs, prefix = 'nobody' } = JSON.parse(process.argv[2] ?? '');

/** @type {Record<string, number>} */
const statuses = {};
/** Of both kinds. */
let sent = 0;
/** Of the flood. */
let asked = 0;
let answered = 0;
let over = false;
let hasRate = true;
/** Until then only merchants are asked for. */
let turnsSinceMs = Infinity;
/** Connections that wait for their turn. @type {(() => void)[]} */
const idle = [];
const startedMs = performance.now();

function openConnection() {
  const reader = new AnswerReader();
  let floods = false;
  const ask = () => {
    floods = isTurnOfTheFlood();
    const number = first + asked;
    const id = floods ? (merchant ?? `${prefix}-${number}`) : merchants[sent % merchants.length];
    const address = floods && merchant !== undefined ? addressOf(number) : `10.${sent % 256}.${(sent >> 8) % 256}.1`;
    sent++;
    if (floods) asked++;
    socket.write(
      `GET /transactions/tx-1 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-merchant-id: ${id}\r\nx-forwarded-for: ${address}\r\n\r\n`,
    );
  };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('data', (buffer) => {
    const answer = reader.read(buffer, buffer.length);
    if (answer === undefined) return;
    if (floods) {
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      answered++;
    }
    if (answered >= ids) finish();
    else if (hasRate) idle.push(ask);
    else if (asked < ids) ask();
  });
  socket.once('connect', () => idle.push(ask));
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => over || fail('the server closed a connection'));
}

function isTurnOfTheFlood() {
  if (asked >= ids) return false;
  if (merchants === undefined || !hasRate) return true;
  const sinceMs = performance.now() - turnsSinceMs;
  return sinceMs >= 0 && Math.trunc(sinceMs / turnMs) % 2 === 1;
}

/** Sixteen million of them. @param {number} index */
function addressOf(index) {
  return `10.${(index >> 16) % 256}.${(index >> 8) % 256}.${index % 256}`;
}

function finish() {
  if (over) return;
  over = true;
  const seconds = (performance.now() - startedMs) / 1000;
  console.log(JSON.stringify({ answered, seconds, perSecond: answered / seconds, statuses }));
  process.exit(0);
}

/** @param {string} reason */
function fail(reason) {
  console.error(reason);
  process.exit(1);
}

for (let i = 0; i < connections; i++) openConnection();

setInterval(() => {
  if (!hasRate) return;
  const dueByNow = ((performance.now() - startedMs) / 1000) * perSecond;
  const due = merchants === undefined ? Math.min(ids, dueByNow) : dueByNow;
  for (const ask of idle.splice(0, Math.max(0, Math.floor(due) - sent))) ask();
}, 1);
process.once('SIGUSR1', () => {
  hasRate = false;
  for (const ask of idle.splice(0, ids - asked)) ask();
});
process.once('SIGUSR2', () => (turnsSinceMs = performance.now()));
process.once('SIGTERM', finish);
