import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { IssuerFetch, type IssuerUnavailableError } from './issuer-fetch.js';

async function reasonAt(port: number): Promise<string> {
  const told: Error[] = [];
  const issuer = new IssuerFetch({ now: () => 0, onFailure: (error) => void told.push(error), retryAfterMs: 1_000, timeoutMs: 5_000 });
  const error = await issuer.fetch(`http://127.0.0.1:${port}/keys`).then(
    () => undefined,
    (thrown: IssuerUnavailableError) => thrown,
  );
  expect(told).toEqual([error]);
  return error!.message;
}

test('an issuer that cannot be reached is told with the reason of the system', async () => {
  const server = createServer((_, response) => response.writeHead(502).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await reasonAt(port)).toBe(`the issuer cannot be asked: http://127.0.0.1:${port}/keys answered 502`);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await reasonAt(port)).toBe(`the issuer cannot be asked: connect ECONNREFUSED 127.0.0.1:${port}`);
});
