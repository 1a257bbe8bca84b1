export { createKeyReader, type KeyedRequest, type KeyHeaders } from './api-key.js';
export { BY_HEADER, type Caller, type CredentialProblem, type CredentialReader, inOrder, type Named, readHeader } from './caller.js';
