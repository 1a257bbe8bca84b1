export { canonicalAddress, parseAddress } from './address.js';
export { peerGroup } from './peer-group.js';
export { isPublicAddress } from './public-address.js';
export { describeRedis, parseRedisUrl, REDIS_URL_EXAMPLES, RedisUrlError } from './redis-address.js';
export type { RedisAddress, RedisLogin, RedisNode, RedisTls } from './redis-address.js';
