/** A TCP forwarder: an address behind which a test changes the server, slows it down, or lets it disappear with or without a word. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {{ readonly client: Socket, readonly server: Socket }} Pair
 */

export class Forwarder {
  /** Connections that were accepted, ever. */
  accepted = 0;
  /** @type {Set<Pair>} */
  #pairs = new Set();
  /** @type {WeakSet<Pair>} */
  #swallowing = new WeakSet();
  #refusing = false;
  #black = false;
  #delayMs = 0;
  #listener;
  #targetPort;

  /**
   * @param {import('node:net').Server} listener
   * @param {number} targetPort
   */
  constructor(listener, targetPort) {
    this.#listener = listener;
    this.#targetPort = targetPort;
    listener.on('connection', (client) => this.#accept(client));
  }

  /** @param {number} targetPort */
  static async to(targetPort) {
    const listener = createServer();
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', () => resolve(undefined)));
    return new Forwarder(listener, targetPort);
  }

  get port() {
    return /** @type {import('node:net').AddressInfo} */ (this.#listener.address()).port;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  /**
   * The address moves: new connections lead there. Those that exist stay where they are.
   * @param {number} targetPort
   */
  moveTo(targetPort) {
    this.#targetPort = targetPort;
  }

  /** From now on nothing comes through the connections that exist, in either direction, and nobody is told. */
  swallow() {
    for (const pair of this.#pairs) this.#swallowing.add(pair);
  }

  /** A black hole: as `swallow`, and connections that come later are accepted and lead nowhere. Those stay lost after `open()`. */
  blackHole() {
    this.#black = true;
    this.swallow();
  }

  /** Breaks all connections, and each that comes later, with a reset. */
  reset() {
    this.#refusing = true;
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  /**
   * Whatever is sent, in either direction, arrives so much later.
   * @param {number} delayMs
   */
  slowBy(delayMs) {
    this.#delayMs = delayMs;
  }

  /** Everything passes again. */
  open() {
    this.#black = false;
    this.#refusing = false;
    this.#delayMs = 0;
  }

  close() {
    this.#listener.close();
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  /** @param {Socket} client */
  #accept(client) {
    this.accepted++;
    client.on('error', () => {});
    if (this.#refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true });
    const pair = { client: client.setNoDelay(), server };
    this.#pairs.add(pair);
    if (this.#black) this.#swallowing.add(pair);
    this.#relay(client, server, pair);
    this.#relay(server, client, pair);
  }

  /**
   * @param {Socket} from
   * @param {Socket} to
   * @param {Pair} pair
   */
  #relay(from, to, pair) {
    /** @type {{ bytes: Buffer, dueMs: number }[]} */
    const underWay = [];
    const passFirst = () => {
      const first = underWay.shift();
      if (first && !this.#swallowing.has(pair)) to.write(first.bytes);
      if (underWay[0]) setTimeout(passFirst, underWay[0].dueMs - performance.now());
    };
    from.on('error', () => {});
    from.on('data', (bytes) => {
      if (this.#swallowing.has(pair)) return;
      if (this.#delayMs === 0 && underWay.length === 0) to.write(bytes);
      // One timer, for the first: nothing overtakes what is still on its way when the delay changes.
      else if (underWay.push({ bytes, dueMs: performance.now() + this.#delayMs }) === 1) setTimeout(passFirst, this.#delayMs);
    });
    from.on('close', () => {
      if (this.#swallowing.has(pair)) return;
      this.#pairs.delete(pair);
      to.destroy();
    });
  }
}

/** What a forwarder can be told that runs in a thread of its own. */
const ORDERS = /** @type {const} */ (['moveTo', 'swallow', 'blackHole', 'reset', 'slowBy', 'open', 'close']);

/** @typedef {{ readonly port: number } & Pick<Forwarder, typeof ORDERS[number]>} ForwarderThread */

/**
 * A forwarder that does not wait for the test: where milliseconds count, a test that computes would make the way slow.
 * @param {number} targetPort
 * @returns {Promise<ForwarderThread>}
 */
export async function forwarderThread(targetPort) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { targetPort }, execArgv: [] });
  worker.unref();
  const [port] = await once(worker, 'message');
  /** @param {typeof ORDERS[number]} order */
  const tell =
    (order) =>
    (/** @type {unknown[]} */ ...parameters) =>
      worker.postMessage({ order, parameters });
  return /** @type {any} */ ({ port, ...Object.fromEntries(ORDERS.map((order) => [order, tell(order)])) });
}

if (!isMainThread && parentPort && workerData?.targetPort) {
  const port = parentPort;
  const forwarder = await Forwarder.to(workerData.targetPort);
  port.postMessage(forwarder.port);
  port.on('message', ({ order, parameters }) => {
    /** @type {any} */ (forwarder)[order](...parameters);
    if (order === 'close') port.close();
  });
}
