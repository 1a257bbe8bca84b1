import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';

/** A certificate and its key, PEM, made here: tests need nothing but node. */
export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
  readonly x509: X509Certificate;
}

export interface CertificateWish {
  readonly commonNames?: readonly string[];
  readonly uris?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** Who signs it; itself unless given. */
  readonly by?: Authority | undefined;
}

export interface Authority extends MadeCertificate {
  readonly name: string;
  readonly keyObject: KeyObject;
}

const DAY_MS = 86_400_000;
let serial = 0;

/** Just enough of DER (X.690) for a certificate. */
const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]));
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value, 'utf8'));
const time = (date: Date): Buffer => text(0x18, date.toISOString().replaceAll(/[-:T]|\.\d+/g, ''));

/** Object identifiers, encoded. */
const OID = {
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  commonName: Buffer.from('0603550403', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
};

const nameOf = (commonNames: readonly string[]): Buffer =>
  sequence(...commonNames.map((name) => der(0x31, sequence(OID.commonName, text(0x0c, name)))));

function make(wish: CertificateWish, isAuthority: boolean): Authority {
  const { commonNames = ['test'], uris = [], dnsNames = [], by } = wish;
  const { notBefore = new Date(Date.now() - DAY_MS), notAfter = new Date(Date.now() + DAY_MS) } = wish;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(OID.ecdsaWithSha256);
  const names = [...uris.map((uri) => text(0x86, uri)), ...dnsNames.map((name) => text(0x82, name))];
  const extensions = [
    ...(isAuthority
      ? [sequence(OID.basicConstraints, der(0x01, Buffer.from([0xff])), der(0x04, sequence(der(0x01, Buffer.from([0xff])))))]
      : []),
    ...(names.length > 0 ? [sequence(OID.subjectAltName, der(0x04, sequence(...names)))] : []),
  ];
  const body = sequence(
    der(0xa0, integer(2)),
    integer(++serial % 0x7f),
    algorithm,
    nameOf([by?.name ?? commonNames[0]!]),
    sequence(time(notBefore), time(notAfter)),
    nameOf(commonNames),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  );
  const signature = sign('sha256', body, by?.keyObject ?? privateKey);
  const x509 = new X509Certificate(sequence(body, algorithm, der(0x03, Buffer.from([0]), signature)));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return { cert: x509.toString(), key, x509, name: commonNames[0]!, keyObject: privateKey };
}

/** An authority of its own. */
export const makeAuthority = (name = 'authority'): Authority => make({ commonNames: [name] }, true);

/** A certificate; signed by itself unless an authority is given. */
export const makeCertificate = (wish: CertificateWish = {}): MadeCertificate => make(wish, false);
