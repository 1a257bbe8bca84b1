export { type ApiKeyProblem, type ByApiKey, createKeyReader, type KeyHeaders } from './api-key.js';
export { createIdentifier, createClientOf } from './identifier.js';
export type { Identifier, Identity, IdentityHeaders, IdentityProblem, IdentitySource } from './identifier.js';
export { createTrust, type Trust } from './trust.js';
