import { PATIENCE } from '../../support/patience.mjs';
import { Agent, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { until } from '../../support/until.js';
import { RawClient, send, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

async function startHolding() {
  const held: ServerResponse[] = [];
  const { url } = await startUpstream((_request, response) => held.push(response));
  return { held, ...(await startProxy(url)) };
}

/** Connections that were made when the server began to close are accepted first. */
const refuses = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(false));
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code === 'ECONNREFUSED'));
    socket.on('connect', () => socket.destroy());
  });

it('answers what is in flight with Connection: close, and soon accepts nothing new', async () => {
  const { held, port, server } = await startHolding();
  const agent = new Agent({ keepAlive: true });
  const answer = send(port, { agent });
  await until(() => held.length === 1);
  let closed = false;
  const closing = server.close(10_000).then(() => (closed = true));
  await until(() => refuses(port));
  expect(closed).toBe(false);
  held[0]!.end('done');
  expect(await answer).toMatchObject({ status: 200, body: 'done', headers: { connection: 'close' } });
  await closing;
  agent.destroy();
});

it('closes idle connections at once, also those on which nothing was ever sent', async () => {
  const { held, port, server } = await startHolding();
  const fresh = await RawClient.open(port);
  const used = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 1);
  held[0]!.end('done');
  await used.until('done');
  const startedMs = performance.now();
  await server.close(10_000);
  expect(performance.now() - startedMs).toBeLessThan(2_000 * PATIENCE);
  await Promise.all([fresh.closed, used.closed]);
});

it('lets an answer end that had begun before, and closes its connection then', async () => {
  const { held, port, server } = await startHolding();
  const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 1);
  held[0]!.write('first');
  await client.until('first');
  const closing = server.close(10_000);
  held[0]!.end('last');
  await client.closed;
  expect(client.received).toMatch(/last\r\n0\r\n\r\n$/);
  await closing;
});

it('cuts off what does not end in time', async () => {
  const { held, port, server, metrics } = await startHolding();
  const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 1);
  const startedMs = performance.now();
  await server.close(200);
  expect(performance.now() - startedMs).toBeGreaterThan(150);
  await client.closed;
  expect(client.received).toBe('');
  expect(metrics.inFlight).toBe(0);
});

it('rejects listening on a taken port', async () => {
  const first = await startHolding();
  const second = await startHolding();
  await second.server.close(0);
  await expect(second.server.listen(first.port, '127.0.0.1')).rejects.toThrow('EADDRINUSE');
});

it('serves on while it drains, on new connections too, and closes each with its answer', async () => {
  const { held, port, server } = await startHolding();
  const idle = await RawClient.open(port);
  server.drain();
  const fresh = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 1);
  held[0]!.end('done');
  await fresh.closed;
  expect(fresh.received).toMatch(/\r\nConnection: close\r\n[^]*done/);
  idle.write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 2);
  held[1]!.end('done');
  await idle.closed;
  expect(idle.statuses).toEqual([200]);
});

it('answers a request that arrives on an idle connection just after it was told to close', async () => {
  const { held, port, server } = await startHolding();
  const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 1);
  held[0]!.end('first');
  await client.until('first');
  const closing = server.close(10_000);
  client.write('GET / HTTP/1.1', 'Host: x', '', '');
  await until(() => held.length === 2);
  held[1]!.end('second');
  await client.closed;
  expect(client.received).toMatch(/\r\nConnection: close\r\n[^]*second$/);
  await closing;
});
