export { createKeyReader, type KeyedRequest, type KeyHeaders } from './api-key.js';
export { BY_HEADER, type Caller, type CredentialProblem, type CredentialReader, inOrder, type Named, readHeader } from './caller.js';
export { createIdentifier, createClientOf } from './identifier.js';
export type { Identifier, Identity, IdentityHeaders, IdentityProblem, IdentitySource } from './identifier.js';
