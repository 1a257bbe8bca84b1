/** An API that can be misused: besides quick small answers it has calls that are never answered, and large answers. */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const SMALL = Buffer.from(JSON.stringify({ items: [{ id: 'tx-1', amount: 1250, currency: 'EUR', state: 'settled' }], next: null }));
/** A large answer is sent as from a file, piece by piece: one write of all of it would keep the others waiting for milliseconds. */
const PIECE = Buffer.alloc(64 * 1024, 'x');
const PIECES = 256;

const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
  request.on('error', () => {}).resume();
  if (request.url === '/transactions/never') return;
  const isLarge = request.url === '/transactions/large';
  const bytes = isLarge ? PIECES * PIECE.length : SMALL.length;
  response.writeHead(200, ['content-type', 'application/json', 'content-length', String(bytes)]);
  if (isLarge) Readable.from(Array.from({ length: PIECES }, () => PIECE)).pipe(response);
  else response.end(SMALL);
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`));
process.once('SIGTERM', () => process.exit(0));
