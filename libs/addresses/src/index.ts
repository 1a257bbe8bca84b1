export { canonicalAddress, parseAddress } from './address.js';
export { peerGroup } from './peer-group.js';
export { isPublicAddress } from './public-address.js';
