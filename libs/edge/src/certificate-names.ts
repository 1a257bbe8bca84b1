import type { X509Certificate } from 'node:crypto';

/** Which part of a certificate names the merchant. */
export type CertificatePart = 'san-uri' | 'san-dns' | 'cn';

/** One name of the text that OpenSSL makes of the extension: those with characters that could end a name are quoted as JSON. */
const NAME = /(?<kind>[A-Za-z ]+):(?<value>"(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;

const KINDS: Readonly<Record<Exclude<CertificatePart, 'cn'>, string>> = { 'san-uri': 'URI', 'san-dns': 'DNS' };

/** The names of a certificate that stand in this part of it; none if they cannot be told apart. */
export function namesIn(certificate: X509Certificate, part: CertificatePart): readonly string[] {
  if (part !== 'cn') return alternativeNames(certificate.subjectAltName ?? '', KINDS[part]);
  // As an object: the text of the subject has escapes.
  const names: unknown = certificate.toLegacyObject().subject?.CN ?? [];
  return Array.isArray(names) ? (names as string[]) : [names as string];
}

function alternativeNames(text: string, kind: string): readonly string[] {
  const names: string[] = [];
  for (NAME.lastIndex = 0; NAME.lastIndex < text.length;) {
    const groups = NAME.exec(text)?.groups;
    if (groups === undefined) return [];
    const value = groups['value']!;
    if (groups['kind'] === kind) names.push(value.startsWith('"') ? (JSON.parse(value) as string) : value);
  }
  return names;
}
