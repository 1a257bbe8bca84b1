import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener, type RequestOptions } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import {
  type Admission,
  type InboundRequest,
  ProxyMetrics,
  type ProxyOptions,
  ProxyServer,
} from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';

export const FORWARD: Admission = { forward: true, responseHeaders: [] };

export const REFUSAL: Admission = {
  forward: false,
  status: 429,
  headers: ['Retry-After', '1'],
  body: '{"title":"Too Many Requests","status":429}',
};

type Started = { close(): Promise<void> };

const started: Started[] = [];

/** Ends everything that a test has started; to be called after each. */
export async function stopAll(): Promise<void> {
  for (const each of started.splice(0).reverse()) await each.close();
}

export interface Upstream {
  url: URL;
  /** The connections that the proxy has opened so far. */
  connections: Socket[];
}

/** A real upstream on a free port. */
export async function startUpstream(handler: RequestListener): Promise<Upstream> {
  const server = createServer(handler);
  // Node 24 refuses a request of more than a thousand headers otherwise, where the gateway passes them on.
  server.maxHeadersCount = 0;
  return listening(server);
}

/** An upstream below HTTP: what it answers, or does not, is up to the handler. */
export async function startTcpUpstream(handler: (socket: Socket) => void): Promise<Upstream> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    handler(socket);
  });
  return listening(server);
}

/** Listens on a free port, until the end of the test. */
export async function listening(server: Server): Promise<Upstream> {
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  started.push({
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), connections };
}

export interface RunningProxy {
  port: number;
  server: ProxyServer;
  metrics: ProxyMetrics;
  /** All lines of the proxy's metrics, as a scrape gets them. */
  readonly scrape: () => Promise<string[]>;
  /** What was given to `logger.warn` and `logger.error`. */
  log: Record<string, unknown>[];
  /** The requests that admission was asked about. */
  asked: InboundRequest[];
}

type Admit = ProxyOptions['admit'];

export async function startProxy(
  upstream: URL | undefined,
  { admit = (_request, done) => done(FORWARD), ...options }: Partial<ProxyOptions> = {},
): Promise<RunningProxy> {
  const metrics = new ProxyMetrics();
  const registry = new Registry();
  metrics.register(registry);
  const log: Record<string, unknown>[] = [];
  const asked: InboundRequest[] = [];
  const counting: Admit = (request, done) => {
    asked.push(request);
    admit(request, done);
  };
  const server = new ProxyServer({
    upstream,
    metrics,
    logger: { warn: (fields) => log.push({ ...fields }), error: (fields) => log.push({ ...fields }) },
    trusts: () => true,
    fastLane: process.env.GATEWAY_FAST_LANE !== 'off',
    admit: counting,
    ...options,
  });
  const port = await server.listen(0, '127.0.0.1');
  started.push({ close: () => server.close(0) });
  return { port, server, metrics, log, asked, scrape: async () => (await registry.metrics()).split('\n') };
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
}

/** One request by node's own client, on a connection of its own unless an agent is given. */
export async function send(port: number, options: RequestOptions & { body?: string | Buffer } = {}): Promise<Answer> {
  const { body, ...rest } = options;
  const request = httpRequest({ host: '127.0.0.1', port, agent: false, ...rest });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode!, headers: response.headers, rawHeaders: response.rawHeaders, body: text };
}

/** A connection on which a test writes bytes and looks at those that come back. */
export class RawClient {
  received = '';
  readonly closed: Promise<void>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (this.received += chunk));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()));
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    const client = new RawClient(socket);
    await once(socket, 'connect');
    started.push({ close: async () => void socket.destroy() });
    return client;
  }

  write(...lines: string[]): this {
    this.socket.write(lines.join('\r\n'), 'latin1');
    return this;
  }

  /** Waits until the text has come, and returns all that has come so far. */
  async until(text: string | RegExp): Promise<string> {
    await until(() => expect(this.received).toMatch(text));
    return this.received;
  }

  /** The statuses of the answers so far. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
  }
}

/** How often in a row a value has to be found the same before it has settled. */
const SETTLED_LOOKS = 25;

/** A value that changes for a while, once it no longer does. On a busy machine it may only rest: expect nothing that a rest would break. */
export async function settledValue(read: () => number): Promise<number> {
  let [value, looks] = [read(), 0];
  await until(
    'a value settles',
    () => {
      looks = read() === value ? looks + 1 : 0;
      value = read();
      return looks === SETTLED_LOOKS;
    },
    60_000,
  );
  return value;
}
