import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateFiles, type PairOfFiles } from '#edge';
import { makeAuthority, makeCertificate } from '../../../../test/support/certificates.js';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tollgate-certificate-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
};

const first = makeCertificate({ notAfter: new Date('2030-01-01T00:00:00Z') });
const second = makeCertificate({ notAfter: new Date('2031-01-01T00:00:00Z') });

function setUp({ clientCa }: { clientCa?: string } = {}) {
  const used: PairOfFiles[] = [];
  const said: string[] = [];
  const files = new CertificateFiles({
    prefix: 'GATEWAY_TLS',
    paths: { cert: path('cert.pem'), key: path('key.pem'), clientCa: clientCa && path(clientCa) },
    logger: {
      info: (_fields: unknown, text?: string) => void said.push(`info ${text}`),
      error: (_fields: unknown, text?: string) => void said.push(`error ${text}`),
    } as never,
    onChanged: (pair) => used.push(pair),
  });
  return { files, used, said };
}

beforeEach(() => write({ 'cert.pem': first.cert, 'key.pem': first.key }));

it('a certificate is used from the start, and its end is known', () => {
  const { files } = setUp();
  expect(files.pair).toEqual({ cert: first.cert, key: first.key, clientCa: undefined });
  expect(new Date(files.expiresAtMs).toISOString()).toBe('2030-01-01T00:00:00.000Z');
});

it.each([
  ['a file that is not there', () => rmSync(path('key.pem'))],
  ['a key of another certificate', () => write({ 'key.pem': second.key })],
  ['a certificate that is none', () => write({ 'cert.pem': 'none' })],
])('a gateway does not start with %s', (_case, spoil) => {
  spoil();
  expect(() => setUp()).toThrow();
});

it('a gateway does not start with authorities of clients that are none', () => {
  write({ 'ca.pem': 'none' });
  expect(() => setUp({ clientCa: 'ca.pem' })).toThrow();
});

it('files that stay as they are change nothing', async () => {
  const { files, used, said } = setUp();
  await files.look();
  expect({ used, said, ...files.outcomes }).toEqual({ used: [], said: [], loaded: 1, failed: 0 });
});

it('another pair is used, and its end is known', async () => {
  const { files, used, said } = setUp();
  write({ 'cert.pem': second.cert, 'key.pem': second.key });
  await files.look();
  await files.look();
  expect(used.map(({ cert }) => cert)).toEqual([second.cert]);
  expect(new Date(files.expiresAtMs).getUTCFullYear()).toBe(2031);
  expect(said).toEqual(['info the certificate has changed and is in use']);
});

it('other authorities of clients are used as well', async () => {
  const [before, after] = [makeAuthority(), makeAuthority()];
  write({ 'ca.pem': before.cert });
  const { files, used } = setUp({ clientCa: 'ca.pem' });
  write({ 'ca.pem': after.cert });
  await files.look();
  expect(used.map(({ clientCa }) => clientCa)).toEqual([after.cert]);
});

it('half of a change that is whole at the next look is no fault', async () => {
  const { files, used, said } = setUp();
  write({ 'cert.pem': second.cert });
  await files.look();
  write({ 'key.pem': second.key });
  await files.look();
  expect(used).toHaveLength(1);
  expect(said).toEqual(['info the certificate has changed and is in use']);
  expect(files.outcomes.failed).toBe(0);
});

it.each([
  ['a key that does not fit', () => write({ 'key.pem': second.key }), /^GATEWAY_TLS_KEY .*key\.pem is not the key of the certificate/],
  ['a key that is none', () => write({ 'key.pem': 'none' }), /^GATEWAY_TLS_KEY .*key\.pem has no private key in PEM/],
  ['a file that is gone', () => rmSync(path('cert.pem')), /^ENOENT.*cert\.pem/],
  ['a file that is empty', () => write({ 'cert.pem': '' }), /^GATEWAY_TLS_CERT .*cert\.pem has no certificate in PEM/],
])('%s leaves the pair of before in use, and is said once and as long as it is so', async (_case, spoil, reason) => {
  const { files, used, said } = setUp();
  spoil();
  for (let look = 0; look < 5; look++) await files.look();
  expect(used).toEqual([]);
  expect(files.pair.cert).toBe(first.cert);
  expect(said).toEqual(['error the certificate has changed and cannot be used: the one of before stays in use']);
  expect(files.outcomes).toEqual({ loaded: 1, failed: 1 });
  expect(files.assertUsable).toThrow(reason);
  write({ 'cert.pem': first.cert, 'key.pem': first.key });
  await files.look();
  expect(files.assertUsable).not.toThrow();
});

it('what was bad and is right again is used, and what is bad again is said again', async () => {
  const { files, used, said } = setUp();
  for (const key of [second.key, first.key, second.key]) {
    write({ 'key.pem': key });
    await files.look();
    await files.look();
  }
  expect(used).toEqual([]);
  expect(said).toHaveLength(2);
});
