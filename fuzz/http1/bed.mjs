/** A proxy between a client and an upstream that both write down every byte. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { read, STRICTEST } from './readings.mjs';

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {import('./grammar.mjs').Case} Case
 *
 * @typedef {{ method: string, target: string, requestId: string, hostName: string | undefined, merchantId: string }} Asked what admission was told of a request
 * @typedef {{ text: string }} UpstreamConnection
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

const REFUSAL = { forward: false, status: 429, headers: ['Retry-After', '1'], body: '{"status":429}' };
const FORWARD = { forward: true, responseHeaders: [] };
/** A case takes a millisecond. What takes so long hangs. */
const HANGS_AFTER_MS = 30_000;

export class FuzzBed {
  /** @type {Asked[]} */
  #asked = [];
  /** @type {Set<UpstreamConnection>} */
  #reached = new Set();
  /** @type {Case['admission']} */
  #admission = 'forward';
  /** @type {Set<Socket>} */
  #sockets = new Set();
  #upstream = createServer((socket) => this.#serve(socket));
  /** @type {Proxies | undefined} */
  #proxies;

  /** @param {(upstream: URL, admit: FuzzBed['admit']) => Promise<Proxies>} startProxies */
  static async open(startProxies) {
    const bed = new FuzzBed();
    bed.#upstream.listen(0, '127.0.0.1');
    await once(bed.#upstream, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (bed.#upstream.address());
    bed.#proxies = await startProxies(new URL(`http://127.0.0.1:${port}`), bed.admit);
    return bed;
  }

  /** What decides about requests, for the proxies. @param {any} request @param {(admission: any) => void} done */
  admit = (request, done) => {
    const { method, target, requestId, hostName, head } = request;
    this.#asked.push({ method, target, requestId, hostName, merchantId: head.merchantIds === 1 ? head.merchantId : '' });
    if (!request.belongsTo('the merchant of all')) return;
    if (this.#admission === 'refuse') done(REFUSAL);
    else if (this.#admission === 'later') setImmediate(done, FORWARD);
    else if (this.#admission === 'read_body') request.readBody(() => done(FORWARD));
    else done(FORWARD);
  };

  /** @param {Case} testCase @returns {Promise<Seen>} */
  async run({ pieces, writes, admission, trusted }) {
    if (this.#proxies === undefined) throw new Error('the bed is not open');
    const { inFlight, ports } = this.#proxies;
    const sent = pieces.join('');
    this.#asked = [];
    this.#reached = new Set();
    this.#admission = admission;
    const client = await exchange(ports[trusted ? 0 : 1], sent, writes);
    // The upstream's connections of requests that were given up are closed by then, too.
    for (let turns = 0; inFlight() > 0 && turns < 1000; turns++) await turn();
    const reached = [...this.#reached].map(({ text }) => text);
    return { sent, trusted, admission, asked: this.#asked, reached, inFlight: inFlight(), ...client };
  }

  close() {
    this.#upstream.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** @param {Socket} socket */
  #serve(socket) {
    this.#sockets.add(socket);
    /** @type {UpstreamConnection} */
    let connection = { text: '' };
    let unread = '';
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.setEncoding('latin1').on('data', (/** @type {string} */ bytes) => {
      // Of a case that is over nothing comes any more.
      if (!this.#reached.has(connection)) this.#reached.add((connection = { text: '' }));
      connection.text += bytes;
      unread += bytes;
      const { requests, ending } = read(unread, STRICTEST);
      const whole = requests.filter(({ isWhole }) => isWhole);
      for (const { method } of whole) socket.write(method === 'HEAD' ? NO_BODY : ANSWER);
      if (ending === 'end') unread = '';
      else if (whole.length > 0) socket.destroy();
    });
  }
}

const NO_BODY = 'HTTP/1.1 200 OK\r\nX-Upstream: yes\r\nContent-Length: 2\r\n\r\n';
const ANSWER = `${NO_BODY}ok`;

/** Resolves when the connection has ended. @param {number} port @param {string} sent @param {number} writes */
async function exchange(port, sent, writes) {
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
