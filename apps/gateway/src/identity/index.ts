export { createIdentifier } from './identifier.js';
export type { Identifier, Identity, IdentityProblem, IdentitySource } from './identifier.js';
export { peerGroup } from '#platform';
export { createTrust, type Trust } from './trust.js';
