import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCertificate } from '#edge';
import { makeAuthority, makeCertificate } from '../../../../test/support/certificates.js';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'tollgate-certificate-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const { cert, key } = makeCertificate();
const { cert: clientCa } = makeAuthority();
const { key: otherKey } = makeCertificate();

/** Null: the file is not there. */
function read({ certFile = cert as string | null, keyFile = key as string | null, caFile = null as string | null }) {
  const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientCa: join(folder, 'ca.pem') };
  for (const [path, text] of [
    [paths.cert, certFile],
    [paths.key, keyFile],
    [paths.clientCa, caFile],
  ] as const) {
    rmSync(path, { force: true });
    if (text !== null) writeFileSync(path, text);
  }
  return readCertificate('GATEWAY_TLS', { ...paths, clientCa: caFile === null ? undefined : paths.clientCa });
}

it('the files of a certificate are read', () => {
  expect(read({})).toEqual({ cert, key, clientCa: undefined });
  expect(read({ caFile: clientCa })).toEqual({ cert, key, clientCa });
  expect(readCertificate('GATEWAY_TLS', { cert: undefined, key: undefined, clientCa: undefined })).toBeUndefined();
});

it.each([
  ['a certificate that is not there', { certFile: null }, /^GATEWAY_TLS_CERT \S+cert\.pem cannot be read \(ENOENT\)$/],
  ['a key that is not there', { keyFile: null }, /^GATEWAY_TLS_KEY \S+key\.pem cannot be read \(ENOENT\)$/],
  ['a certificate that is none', { certFile: 'secret' }, /^GATEWAY_TLS_CERT \S+cert\.pem has no certificate in PEM$/],
  ['a key that is none', { keyFile: 'secret' }, /^GATEWAY_TLS_KEY \S+key\.pem has no private key in PEM, or one that is encrypted$/],
  ['half a key', { keyFile: key.slice(0, 60) }, /^GATEWAY_TLS_KEY \S+key\.pem has no private key in PEM, or one that is encrypted$/],
  [
    'the key of another',
    { keyFile: otherKey },
    /^GATEWAY_TLS_KEY \S+key\.pem is not the key of the certificate in GATEWAY_TLS_CERT \S+cert\.pem$/,
  ],
  ['an authority that is none', { caFile: 'secret' }, /^GATEWAY_TLS_CLIENT_CA \S+ca\.pem has no certificate in PEM$/],
])('%s is named with its variable and its file, and nothing of what is in it', (_case, files, message) => {
  expect(() => read(files)).toThrow(message);
});
