import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { createDataSource } from '#rules-db';
import { makeCertificate } from '../../support/certificates.js';
import { freshDatabase, type TestDatabase } from '../../support/services.js';

/** What a client of PostgreSQL sends first if it wants TLS: a length and a number. */
const TLS_WANTED = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

const SERVER = makeCertificate({ commonNames: ['localhost'], dnsNames: ['localhost'] });
const ANOTHER = makeCertificate({ commonNames: ['localhost'], dnsNames: ['localhost'] });

/** What of the way to PostgreSQL is seen in front of it. */
let seen: { byTls: boolean; said: string };
const sockets = new Set<Socket>();
let database: TestDatabase;
let front: Server;
let folder: string;

/** Speaks TLS with a client that asks for it, and passes on what it says to the real server, as a pooler does. */
function serve(client: Socket): void {
  sockets.add(client);
  client.on('error', () => {});
  client.once('data', (first: Buffer) => {
    seen.byTls = first.equals(TLS_WANTED);
    if (seen.byTls) client.write('S');
    const said = seen.byTls ? new TLSSocket(client, { isServer: true, cert: SERVER.cert, key: SERVER.key }) : client;
    const server = connect(Number(new URL(database.url).port), new URL(database.url).hostname);
    sockets.add(server);
    for (const socket of [said, server]) socket.on('error', () => client.destroy());
    if (!seen.byTls) server.write(first);
    said.on('data', (data: Buffer) => (seen.said += data.toString('latin1')));
    said.pipe(server).pipe(said);
  });
}

beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tls-'));
  await writeFile(join(folder, 'right.pem'), SERVER.cert);
  await writeFile(join(folder, 'another.pem'), ANOTHER.cert);
  front = createServer(serve);
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((closed) => front.close(closed));
  await rm(folder, { recursive: true });
  await database.drop();
});

/** What a query of the URL leads to. */
async function outcome(host: string, query: Readonly<Record<string, string>>): Promise<'TLS' | 'no TLS' | 'refused'> {
  const url = Object.assign(new URL(database.url), { hostname: host, port: String((front.address() as AddressInfo).port) });
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const dataSource = createDataSource(url.href, { poolSize: 1 });
  seen = { byTls: false, said: '' };
  try {
    await dataSource.initialize();
  } catch {
    return 'refused';
  }
  expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await dataSource.destroy();
  return seen.byTls ? 'TLS' : 'no TLS';
}

const trusted = (name: string) => ({ sslrootcert: join(folder, `${name}.pem`) });

it.each(['verify-full', 'require'])('a URL with sslmode=%s is followed by TLS with the server that it names', async (sslmode) => {
  expect(await outcome('localhost', { sslmode, ...trusted('right') })).toBe('TLS');
  expect(seen.said).toContain(new URL(database.url).username);
});

it.each([
  ['of an authority that is not trusted', 'localhost', { sslmode: 'verify-full' }, 'another'],
  ['of an authority that is not trusted, whatever libpq makes of this mode,', 'localhost', { sslmode: 'require' }, 'another'],
  ['with another name', '127.0.0.1', { sslmode: 'verify-full' }, 'right'],
])('a server %s does not learn who wants to connect', async (_which, host, mode, authority) => {
  expect(await outcome(host, { ...mode, ...trusted(authority) })).toBe('refused');
  expect(seen.byTls).toBe(true);
  // At most that the connection ends.
  expect(['', 'X\0\0\0\x04']).toContain(seen.said);
});

it('a URL that does not ask for TLS gets none', async () => {
  expect(await outcome('localhost', {})).toBe('no TLS');
});
