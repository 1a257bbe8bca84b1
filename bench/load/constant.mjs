/** The least that node:http does for a refusal: the same answer to everything. */
import { createServer } from 'node:http';

const BODY = JSON.stringify({
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Quota exceeded',
  status: 429,
});
const HEADERS = ['Content-Type', 'application/problem+json', 'Content-Length', String(BODY.length), 'Retry-After', '60'];

const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  response.writeHead(429, HEADERS);
  response.end(BODY, 'latin1');
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`));
process.once('SIGTERM', () => process.exit(0));
