/** A proxy between a client of HTTP/1.1 and an upstream that both write down every byte. */
import { connect } from 'node:net';
import { RecordingUpstream } from '../shared/recording-upstream.mjs';

/**
 * @typedef {import('./grammar.mjs').Case} Case
 * @typedef {import('../shared/recording-upstream.mjs').Asked} Asked
 *
 * @typedef {object} Seen what became of a case
 * @property {string} sent
 * @property {boolean} trusted
 * @property {Case['admission']} admission
 * @property {readonly Asked[]} asked in order
 * @property {readonly string[]} reached what came to the upstream, on each connection
 * @property {string} answers what the client got
 * @property {boolean} isReset whether the client's connection was reset: some of the answers may be lost
 * @property {boolean} hangs whether it was not ended in time
 * @property {number} inFlight requests that the proxy thinks are still under way
 *
 * @typedef {object} Proxies what is tested: one proxy that trusts its peers, and one that does not
 * @property {readonly [trusting: number, notTrusting: number]} ports
 * @property {() => number} inFlight
 */

/** A case takes a millisecond. What takes so long hangs. */
const HANGS_AFTER_MS = 30_000;

export class FuzzBed {
  #upstream = new RecordingUpstream();
  /** @type {Proxies | undefined} */
  #proxies;

  /** @param {(upstream: URL, admit: RecordingUpstream['admit']) => Promise<Proxies>} startProxies */
  static async open(startProxies) {
    const bed = new FuzzBed();
    bed.#proxies = await startProxies(await bed.#upstream.listen(), bed.#upstream.admit);
    return bed;
  }

  /** @param {Case} testCase @param {number} [turns] of the event loop behind each write @returns {Promise<Seen>} */
  async run({ pieces, writes, admission, trusted }, turns = 0) {
    if (this.#proxies === undefined) throw new Error('the bed is not open');
    const { inFlight, ports } = this.#proxies;
    const sent = pieces.join('');
    this.#upstream.begin(admission);
    const client = await exchange(ports[trusted ? 0 : 1], sent, writes, turns);
    // The upstream's connections of requests that were given up are closed by then, too.
    for (let turns = 0; inFlight() > 0 && turns < 1000; turns++) await turn();
    const { asked, reached } = this.#upstream;
    return { sent, trusted, admission, asked, reached, inFlight: inFlight(), ...client };
  }

  close() {
    this.#upstream.close();
  }
}

/** Resolves when the connection has ended. @param {number} port @param {string} sent @param {number} writes @param {number} turns */
async function exchange(port, sent, writes, turns) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  let answers = '';
  let isReset = false;
  let hangs = false;
  socket.setEncoding('latin1').on('data', (text) => (answers += String(text)));
  socket.on('error', () => (isReset = true));
  const timer = setTimeout(() => {
    hangs = true;
    socket.destroy();
  }, HANGS_AFTER_MS);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const bytes = Buffer.from(sent, 'latin1');
  const length = Math.ceil(bytes.length / writes);
  for (let i = 0; i < writes && !socket.destroyed; i++) {
    if (i > 0) await turn();
    socket.write(bytes.subarray(i * length, (i + 1) * length));
    for (let turned = 0; turned < turns; turned++) await turn();
  }
  socket.end();
  await closed;
  clearTimeout(timer);
  return { answers, isReset, hangs };
}

/** Lets what has arrived be looked at. */
function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}
