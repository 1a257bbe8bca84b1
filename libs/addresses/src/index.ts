export { peerGroup } from './peer-group.js';
