/** A proxy between clients of HTTP/2, one that is fuzzed and one that is honest, and an upstream that writes down every byte. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { honestTarget, RecordingUpstream } from '../shared/recording-upstream.mjs';
import { Answers } from './answers.mjs';
import { frame, FrameType, settings, Setting, windowUpdate } from './frames.mjs';
import { readSent } from './readings.mjs';

/**
 * @typedef {import('./grammar.mjs').Case} Case
 * @typedef {import('../shared/recording-upstream.mjs').Asked} Asked
 *
 * @typedef {object} Seen what became of a case
 * @property {import('./readings.mjs').SentConnection} meant what the client has said
 * @property {boolean} trusted
 * @property {Case['admission']} admission
 * @property {readonly Asked[]} asked in order, also of the honest client
 * @property {readonly string[]} reached what came to the upstream, on each connection
 * @property {Answers} answers what the client got
 * @property {boolean} isCut whether somebody ended the connection: some of the answers may be lost
 * @property {boolean} hangs whether something that was asked had no answer in time
 * @property {{ target: string, problem: string }} honest what the honest client asked for, and what was wrong with the answer
 * @property {number} inFlight requests that the proxy thinks are still under way
 *
 * @typedef {object} Proxy what is tested
 * @property {number} port
 * @property {() => number} inFlight
 * @property {() => Promise<unknown>} close cuts what is under way
 *
 * @typedef {(upstream: URL, admit: RecordingUpstream['admit'], trusted: boolean) => Promise<Proxy>} StartProxy trusted: it trusts its peers
 * @typedef {{ proxy: Proxy, honest: import('node:http2').ClientHttp2Session }} Side
 */

/** Asked behind everything else: with its answer all that is before it has been read. */
const LAST = 'fuzzed !';
/** Enough for all answers of a case. */
const WINDOW = 1_000_000;
/** What lets every answer out that waits for a window. */
const OPENING = Buffer.concat([settings([[Setting.initialWindowSize, WINDOW]]), windowUpdate(0, WINDOW)]);
const QUESTION = frame(FrameType.ping, 0, 0, Buffer.from(LAST, 'latin1'));

export class Http2FuzzBed {
  #upstream = new RecordingUpstream();
  /** @type {URL | undefined} */
  #url;
  /** One proxy that trusts its peers, and one that does not. @type {Map<boolean, Side>} */
  #sides = new Map();
  #asked = 0;
  #startProxy;
  #ca;
  #hangsAfterMs;

  /**
   * @param {StartProxy} startProxy
   * @param {{ ca: string, hangsAfterMs?: number }} options ca: who vouches for the proxies, as localhost; a case takes some milliseconds
   */
  constructor(startProxy, { ca, hangsAfterMs = 30_000 }) {
    this.#startProxy = startProxy;
    this.#ca = ca;
    this.#hangsAfterMs = hangsAfterMs;
  }

  /** @param {Case} testCase @returns {Promise<Seen>} */
  async run({ pieces, writes, admission, trusted, ending }) {
    const side = this.#sides.get(trusted) ?? (await this.#open(trusted));
    const { proxy } = side;
    const sent = ending === 'breaks_off' ? pieces.join('') : completed(pieces.join(''));
    const meant = readSent(sent);
    this.#upstream.begin(admission);
    const asking = this.#askHonestly(side.honest);
    const client = await this.#exchange({ port: proxy.port, meant, ending, writes }, Buffer.from(sent, 'latin1'));
    const honest = await asking;
    // When the client is gone before everything was read, and when a connection has failed, what is under way ends later: here at once, so that nothing of
    // it comes in the next case.
    if (client.isGone || (client.answers.hasFailed && proxy.inFlight() > 0)) await this.#close(trusted, side);
    for (const end = performance.now() + this.#hangsAfterMs; proxy.inFlight() > 0 && performance.now() < end;) await turn();
    const { asked, reached } = this.#upstream;
    const { answers, isCut, hangs } = client;
    return { meant, trusted, admission, asked, reached, honest, inFlight: proxy.inFlight(), answers, isCut, hangs };
  }

  async close() {
    for (const [trusted, side] of this.#sides) await this.#close(trusted, side);
    this.#upstream.close();
  }

  /** @param {boolean} trusted @returns {Promise<Side>} */
  async #open(trusted) {
    this.#url ??= await this.#upstream.listen();
    const proxy = await this.#startProxy(this.#url, this.#upstream.admit, trusted);
    const honest = connectHttp2(`https://localhost:${proxy.port}`, { createConnection: () => connectTls(tlsTo(proxy.port, this.#ca)) });
    honest.on('error', () => {});
    await once(honest, 'connect');
    const side = { proxy, honest };
    this.#sides.set(trusted, side);
    return side;
  }

  /** @param {boolean} trusted @param {Side} side */
  async #close(trusted, { proxy, honest }) {
    this.#sides.delete(trusted);
    honest.destroy();
    await proxy.close();
  }

  /** One request of a client that was there before. @param {import('node:http2').ClientHttp2Session} session @returns {Promise<Seen['honest']>} */
  async #askHonestly(session) {
    const target = honestTarget(++this.#asked);
    if (session.destroyed) return { target, problem: 'its connection is gone' };
    const stream = session.request({ ':path': target, 'x-honest': 'yes' });
    const timer = setTimeout(() => stream.destroy(new Error('no answer in time')), this.#hangsAfterMs);
    try {
      const [{ ':status': status }] = /** @type {[{ ':status'?: number }]} */ (await once(stream, 'response'));
      let body = '';
      for await (const chunk of stream.setEncoding('utf8')) body += String(chunk);
      return { target, problem: status === 200 && body === 'ok' ? '' : `it got ${status} with ${JSON.stringify(body)}` };
    } catch (error) {
      return { target, problem: /** @type {Error} */ (error).message };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Resolves when all that can be answered has an answer, or the connection has ended.
   * @param {{ port: number, meant: Seen['meant'], ending: Case['ending'], writes: number }} how
   * @param {Buffer} bytes
   */
  async #exchange({ port, meant, ending, writes }, bytes) {
    const socket = connectTls(tlsTo(port, this.#ca));
    const answers = new Answers();
    const state = { isCut: false, hangs: false };
    const awaited = meant.requests.filter((each) => each.isWhole && !each.wasReset && each.fault + each.faultOfEnd === '');
    // A client that has closed its side waits until the gateway closes the other.
    const isDone = () => answers.hasFailed || (answers.pongs.has(LAST) && awaited.every(({ streamId }) => answers.hasEnded(streamId)));
    const over = new Promise((resolve) => {
      socket.on('data', (/** @type {Buffer} */ chunk) => {
        answers.take(chunk);
        if (isDone()) resolve(undefined);
      });
      socket.on('error', () => {}).on('close', () => resolve((state.isCut = true)));
    });
    await once(socket, 'secureConnect');
    const length = Math.ceil(bytes.length / writes);
    for (let i = 0; i < writes && !socket.destroyed; i++) {
      if (i > 0) await turn();
      socket.write(bytes.subarray(i * length, (i + 1) * length));
    }
    const isGone = ending === 'breaks_off' || meant.isEndless;
    if (isGone) socket.destroy();
    else if (ending === 'half_closes') socket.end(OPENING);
    else socket.write(Buffer.concat([OPENING, QUESTION]));
    const timer = setTimeout(() => {
      state.hangs = true;
      socket.destroy();
    }, this.#hangsAfterMs);
    await over;
    clearTimeout(timer);
    const result = { answers, isGone, hangs: state.hangs, isCut: isGone || ending !== 'waits' || state.isCut || answers.hasFailed };
    socket.destroy();
    if (!socket.closed) await once(socket, 'close');
    return result;
  }
}

/** @param {number} port @param {string} ca */
const tlsTo = (port, ca) => ({ port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'], noDelay: true });

/** The same with as many bytes more as make its last frame whole: what comes behind it is a frame of its own. @param {string} sent */
function completed(sent) {
  let all = sent;
  for (let { missing } = readSent(all); missing > 0; { missing } = readSent(all)) all += '\0'.repeat(missing);
  return all;
}

/** Lets what has arrived be looked at. */
function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}
