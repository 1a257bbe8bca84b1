import { isUtf8 } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import { type CertificatePart, namesIn } from '#edge';

/** The headers in which a proxy says with which certificate its client came. */
export type CertificateHeader = 'client-cert' | 'x-forwarded-client-cert';

const SEQUENCE = /^:(?<base64>[A-Za-z0-9+/]+={0,2}):$/;

/**
 * The names that a proxy's header has in this part of a certificate. The proxy has verified it.
 *
 * @returns undefined: the header is not one of these
 */
export function forwardedNames(header: CertificateHeader, value: string, part: CertificatePart): readonly string[] | undefined {
  if (header === 'client-cert') return namesOfBytes(value, part);
  // As UTF-8, which names are: node decodes each byte to a character.
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? namesOfEnvoy(bytes.toString('utf8'), part) : undefined;
}

/** RFC 9440: a byte sequence of structured fields, of the certificate itself. */
function namesOfBytes(value: string, part: CertificatePart): readonly string[] | undefined {
  const base64 = SEQUENCE.exec(value.trim())?.groups?.['base64'];
  if (base64 === undefined) return undefined;
  try {
    return namesIn(new X509Certificate(Buffer.from(base64, 'base64')), part);
  } catch {
    return undefined;
  }
}

/** A pair of Envoy's header. A value with a comma, a semicolon or an equals sign is quoted. */
const PAIR = /(?<key>[A-Za-z]+)=(?<value>"(?:[^"\\]|\\.)*"|[^",;]*)(?<end>;|,|$)/y;

const KEYS: Readonly<Record<CertificatePart, string>> = { 'san-uri': 'uri', 'san-dns': 'dns', cn: 'subject' };

/** Of several elements nobody can say which is the client's and which that of a proxy on the way: there has to be one. */
function namesOfEnvoy(value: string, part: CertificatePart): readonly string[] | undefined {
  const values: string[] = [];
  for (PAIR.lastIndex = 0; PAIR.lastIndex < value.length;) {
    const groups = PAIR.exec(value)?.groups;
    if (groups === undefined || groups['end'] === ',') return undefined;
    if (groups['key']!.toLowerCase() === KEYS[part]) values.push(unquoted(groups['value']!));
  }
  return part === 'cn' ? values.flatMap(commonNames) : values;
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
}

/** The common names of a subject as RFC 2253 writes it; of what is written in another way, none. */
function commonNames(subject: string): string[] {
  const names: string[] = [];
  // An escaped comma or plus belongs to its value.
  for (const attribute of subject.match(/(?:[^,+\\]|\\.)+/g) ?? []) {
    const value = /^\s*CN=(?<value>.*)$/i.exec(attribute)?.groups?.['value'];
    if (value !== undefined) names.push(value.replaceAll(/\\(.)/g, '$1'));
  }
  return names;
}
