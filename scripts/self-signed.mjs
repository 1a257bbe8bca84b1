/** A certificate of localhost that signs itself, for benchmarks and fuzzers: they need nothing but node. */
import { generateKeyPairSync, sign } from 'node:crypto';

const DAY_MS = 86_400_000;
const NAME = 'localhost';

/** Just enough of DER (X.690) for a certificate. @param {number} tag @param {...Buffer} contents */
function der(tag, ...contents) {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (/** @type {Buffer[]} */ ...contents) => der(0x30, ...contents);
const time = (/** @type {number} */ atMs) => der(0x18, Buffer.from(new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '')));

/** Object identifiers, encoded. */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');

/** @returns {{ cert: string, key: string }} PEM, good for a day */
export function selfSigned(nowMs = Date.now()) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(ECDSA_WITH_SHA256);
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(NAME)))));
  const alternatives = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(0x82, Buffer.from(NAME)))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(nowMs - DAY_MS), time(nowMs + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternatives)),
  );
  const certificate = sequence(body, algorithm, der(0x03, Buffer.from([0]), sign('sha256', body, privateKey)));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: /** @type {string} */ (privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}
