/** The API behind the gateways: one small JSON answer to everything, quick enough never to be what is measured. */
import { createServer } from 'node:http';

const BODY = Buffer.from(JSON.stringify({ items: [{ id: 'tx-1', amount: 1250, currency: 'EUR', state: 'settled' }], next: null }));
const HEADERS = ['content-type', 'application/json', 'content-length', String(BODY.length)];

const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  response.writeHead(200, HEADERS);
  response.end(BODY);
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`));
process.once('SIGTERM', () => process.exit(0));
