/** What is behind the proxies that are fuzzed: it decides about requests, and writes down every byte that reaches the upstream. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { read, STRICTEST, valuesOf } from '../http1/readings.mjs';

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {{ method: string, target: string, requestId: string, hostName: string | undefined, merchantId: string }} Asked what admission was told of a request
 */

const REFUSAL = { forward: false, status: 429, headers: ['Retry-After', '1'], body: '{"status":429}' };
const FORWARD = { forward: true, responseHeaders: [] };

/** Requests that are remembered of the cases before. */
const MOST_EARLIER = 100;

const SMALL = 'ok';
/** More than a client of HTTP/2 takes without saying so. */
export const LARGE = 'l'.repeat(70_000);

/** The body of the upstream's answer. @param {string} target */
export const answerTo = (target) => (target.startsWith('/large') ? LARGE : SMALL);

export class RecordingUpstream {
  /** In order. @type {Asked[]} */
  asked = [];
  /** Of the cases before. @type {Asked[]} */
  #earlier = [];
  /** @type {import('./fuzz.mjs').Admission} */
  #admission = 'forward';
  /** @type {Set<{ text: string }>} */
  #reached = new Set();
  /** @type {Set<Socket>} */
  #sockets = new Set();
  #server = createServer((socket) => this.#serve(socket));

  /** @returns {Promise<URL>} */
  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    return new URL(`http://127.0.0.1:${port}`);
  }

  /** A case begins. @param {import('./fuzz.mjs').Admission} admission of its requests */
  begin(admission) {
    this.#earlier = [...this.#earlier, ...this.asked].slice(-MOST_EARLIER);
    this.asked = [];
    this.#reached = new Set();
    this.#admission = admission;
  }

  /** What came since a case has begun, on each connection, but for what was under way when it began: its client has given it up. */
  get reached() {
    return [...this.#reached].map(({ text }) => text).filter((text) => !this.#isLate(text));
  }

  /** What decides about requests, for the proxies. @param {any} request @param {(admission: any) => void} done */
  admit = (request, done) => {
    const { method, target, requestId, hostName, head } = request;
    this.asked.push({ method, target, requestId, hostName, merchantId: head.merchantIds === 1 ? head.merchantId : '' });
    if (!request.belongsTo('the merchant of all')) return;
    if (isHonest(target)) done(FORWARD);
    else if (this.#admission === 'refuse') done(REFUSAL);
    else if (this.#admission === 'later') setImmediate(done, FORWARD);
    else if (this.#admission === 'read_body') request.readBody(() => done(FORWARD));
    else done(FORWARD);
  };

  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** @param {string} text */
  #isLate(text) {
    const [request] = read(text, STRICTEST).requests;
    const isThis = (/** @type {Asked} */ { requestId, method, target }) =>
      request?.method === method && request.target === target && valuesOf(request, 'x-request-id').includes(requestId);
    return !this.asked.some(isThis) && this.#earlier.some(isThis);
  }

  /** @param {Socket} socket */
  #serve(socket) {
    this.#sockets.add(socket);
    /** @type {{ text: string }} */
    let connection = { text: '' };
    let unread = '';
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.setEncoding('latin1').on('data', (/** @type {string} */ bytes) => {
      // What began in a case before belongs to that.
      if (!this.#reached.has(connection) && unread === '') this.#reached.add((connection = { text: '' }));
      connection.text += bytes;
      unread += bytes;
      const { requests, ending } = read(unread, STRICTEST);
      const whole = requests.filter(({ isWhole }) => isWhole);
      for (const { method, target } of whole) answer(socket, method, target);
      if (ending === 'end') unread = '';
      else if (whole.length > 0) socket.destroy();
    });
  }
}

const HONEST = '/honest/';

/** A request of a client that means no harm, beside a case. @param {number} number */
export const honestTarget = (number) => `${HONEST}${number}`;
/** @param {string} target */
export const isHonest = (target) => target.startsWith(HONEST);

/** @param {Socket} socket @param {string} method @param {string} target */
function answer(socket, method, target) {
  const body = answerTo(target);
  const text = `HTTP/1.1 200 OK\r\nX-Upstream: yes\r\nContent-Length: ${body.length}\r\n\r\n${method === 'HEAD' ? '' : body}`;
  if (target.startsWith('/late')) setImmediate(() => socket.write(text));
  else socket.write(text);
}
