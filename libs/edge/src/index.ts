export { CertificateFiles, registerCertificate } from './certificate-files.js';
export { type CertificatePart, namesIn } from './certificate-names.js';
export { type CertificateTimes, isGoodAt, timesOf } from './certificate-times.js';
export { clientAddress } from './client-address.js';
export { EndOfTurn } from './end-of-turn.js';
export { Drain, type Drainable } from './drain.js';
export { enforcerOptions } from './enforcer-options.js';
export { handOver } from './hand-over.js';
export { headerValues, rawValues } from './header-values.js';
export { httpDate } from './http-date.js';
export { createClientOf, createIdentifier } from './identifier.js';
export type { Identifier, Identity, IdentityHeaders, IdentityProblem, IdentitySource } from './identifier.js';
export { HEADER_BAD_REQUEST, HEADER_CHALLENGE, HEADER_UNAUTHORIZED, identityRefusal, unidentified } from './identity-refusals.js';
export { KnownAddresses } from './known-addresses.js';
export { headersIn, tightestOf } from './legacy-headers.js';
export { endInOnePiece, endWithBody } from './one-piece.js';
export { readCertificate, readCertificateOrExit, type TlsFiles } from './open-certificate.js';
export { createPathReader, type PathReader } from './path-policy.js';
export { TARGET_CHARACTERS, TARGET_FORM } from './path-problems.js';
export { plainHeaders } from './plain-headers.js';
export { isPreflight } from './preflight.js';
export { Problem } from './problem-answer.js';
export { PassingBody, unreadableByHead } from './readable-body.js';
export { type HeadersOf, rateLimitHeaders, REROUTED, type ShownLimit } from './rate-limit-headers.js';
export { type Refusal, refusal, refusalOf, refusalWithoutVerdict, unavailable } from './refusals.js';
export { createRequestIds, isRequestId } from './request-id.js';
export { retryKeyOf, type RetriedRequest } from './retry-key.js';
export { tlsFaults } from './tls-faults.js';
export {
  createTlsServer,
  type PairOfFiles,
  secureContext,
  type ShownCertificate,
  shownCertificate,
  tlsServerOptions,
  type TlsServerOptions,
} from './tls-server.js';
export { createTrust, type Trust } from './trust.js';
export * from './unless-read.js';
