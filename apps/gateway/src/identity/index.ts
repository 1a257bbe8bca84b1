export { createIdentifier } from './identifier.js';
export type { Identifier, Identity, IdentityHeaders, IdentityProblem, IdentitySource } from './identifier.js';
export { createTrust, type Trust } from './trust.js';
