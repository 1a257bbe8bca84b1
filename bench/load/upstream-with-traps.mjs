/** An API that can be misused: besides quick small answers it has calls that are never answered, and large answers. */
import { createServer } from 'node:http';

const SMALL = Buffer.from(JSON.stringify({ items: [{ id: 'tx-1', amount: 1250, currency: 'EUR', state: 'settled' }], next: null }));
const LARGE = Buffer.alloc(16 * 2 ** 20, 'x');

const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
  request.on('error', () => {}).resume();
  if (request.url === '/transactions/never') return;
  const body = request.url === '/transactions/large' ? LARGE : SMALL;
  response.writeHead(200, ['content-type', 'application/json', 'content-length', String(body.length)]);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`));
process.once('SIGTERM', () => process.exit(0));
